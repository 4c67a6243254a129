/*
 * nanobrag_fit/file/findings.h - what a fit has found, in its file.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_FILE_FINDINGS_H
#define NB_FIT_FILE_FINDINGS_H

#include "nanobrag_fit/fit.h"
#include "nanobrag_io/json/document.h"

/* Adds what a fit has found; `misfit` of each shot, or NULL. */
void findings_put(struct document *d, const nb_fit *fit, const nb_fit_result *result,
                  const nb_fit_misfit *misfit);

#endif
