/*
 * findings.h - writes the result of a fit into its file.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_FILE_FINDINGS_H
#define NB_FIT_FILE_FINDINGS_H

#include "nanobrag_fit/fit.h"
#include "nanobrag_io/json/document.h"

/* Adds the result of a fit to a document. `misfit` holds the residuals of each shot; NULL:
 * there are none. */
void findings_put(struct document *d, const nb_fit *fit, const nb_fit_result *result,
                  const nb_fit_misfit *misfit);

#endif
