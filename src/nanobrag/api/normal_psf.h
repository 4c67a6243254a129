/*
 * normal_psf.h - the normal matrix behind a point spread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_API_NORMAL_PSF_H
#define NB_API_NORMAL_PSF_H

#include "backend/backend.h"

/* *value and what `out` asks for, as nb_loss(). Errors: those of nb_forward(). */
nb_status normal_psf(nb_simulator *sim, const nb_scene *scene,
                     const struct phys_frame *frame, const struct objective_terms *terms,
                     double *value, const nb_normal *out);

#endif
