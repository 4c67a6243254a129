/*
 * normal_psf.h - the normal matrix J^T W J of an image with a point spread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_API_NORMAL_PSF_H
#define NB_API_NORMAL_PSF_H

#include "backend/backend.h"

/* Set *value to the objective and, if it is finite, add the results that `out` requests, as
 * nb_loss() does. Errors: those that nb_forward() returns. */
nb_status normal_psf(nb_simulator *sim, const nb_scene *scene,
                     const struct phys_frame *frame, const struct objective_terms *terms,
                     double *value, const nb_normal *out);

#endif
