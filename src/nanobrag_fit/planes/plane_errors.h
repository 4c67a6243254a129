/*
 * plane_errors.h - matrices for errors where a target has planes of background.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_PLANE_ERRORS_H
#define NB_FIT_PLANE_ERRORS_H

#include "nanobrag_fit/fit.h"

/* Adds M (FIT_MEAT) or B (FIT_BREAD), as errors_normal(), for a loss that is no
 * likelihood. */
nb_status plane_errors_normal(struct fit_worker *worker, nb_simulator *sim,
                              const nb_target *target, int wants, nb_normal *out);

#endif
