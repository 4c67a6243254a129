/*
 * normal_psf.h - the normal matrix of an image with a point spread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_API_NORMAL_PSF_H
#define NB_API_NORMAL_PSF_H

#include "backend/backend.h"

/* Set *value and add the results that `out` requests, as nb_loss() does. Errors: as
 * nb_forward().
 */
nb_status normal_psf(nb_simulator *sim, const nb_scene *scene,
                     const struct phys_frame *frame, const struct objective_terms *terms,
                     double *value, const nb_normal *out);

#endif
