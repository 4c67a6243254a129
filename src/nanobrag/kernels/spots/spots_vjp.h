/*
 * spots_vjp.h - the adjoint of an image that the spots strategy computes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_SPOTS_SPOTS_VJP_H
#define NB_KERNELS_SPOTS_SPOTS_VJP_H

#include "kernels/derivatives/adjoint.h"
#include "kernels/spots/spots.h"

/* Returns 1 if spots_vjp() visits the spots of a job, and so overwrites job->photons. */
int spots_vjp_splats(const struct job *job);

/* Computes the same as adjoint_run(), but from the spots of spots_forward(): contributions
 * that the image drops are dropped from its adjoint too. If samples have factors of their
 * own or F is interpolated, it calls adjoint_run(). Otherwise the job's photons are packed
 * and serve as workspace for the Bragg sums. Errors: NB_ERR_MEMORY, NB_ERR_CANCELLED. */
nb_status spots_vjp(struct progress *progress, const struct kernel_set *kernels,
                    const struct job *job, const struct objective *objective,
                    struct adjoint_work *adjoint, struct spots_work *work);

#endif
