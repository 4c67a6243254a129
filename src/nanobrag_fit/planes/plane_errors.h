/*
 * plane_errors.h - see plane_errors.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_PLANE_ERRORS_H
#define NB_FIT_PLANE_ERRORS_H

#include "nanobrag_fit/fit.h"

/* Adds what errors_normal() does, for a loss that is no likelihood and planes. */
nb_status plane_errors_normal(struct fit_worker *worker, nb_simulator *sim,
                              const nb_target *target, int wants, nb_normal *out);

#endif
