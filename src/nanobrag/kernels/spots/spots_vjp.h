/*
 * spots_vjp.h - the adjoint of an image that is painted spot by spot.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_SPOTS_SPOTS_VJP_H
#define NB_KERNELS_SPOTS_SPOTS_VJP_H

#include "kernels/derivatives/adjoint.h"
#include "kernels/spots/spots.h"

/* As adjoint_run(), over the spots of spots_forward(): what these drop of the image, they
 * drop of its adjoint. Where samples are weighed one by one, or F is interpolated, it is
 * adjoint_run(). Errors: NB_ERR_MEMORY, NB_ERR_CANCELLED. */
nb_status spots_vjp(struct progress *progress, const struct kernel_set *kernels,
                    const struct job *job, const struct objective *objective,
                    struct adjoint_work *adjoint, struct spots_work *work);

#endif
