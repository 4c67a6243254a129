/*
 * nanobrag_fit/file/findings.h - the result of a fit in its file.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_FILE_FINDINGS_H
#define NB_FIT_FILE_FINDINGS_H

#include "nanobrag_fit/fit.h"
#include "nanobrag_io/json/document.h"

/* Adds the result of a fit; `misfit` of each shot, or NULL. */
void findings_put(struct document *d, const nb_fit *fit, const nb_fit_result *result,
                  const nb_fit_misfit *misfit);

#endif
