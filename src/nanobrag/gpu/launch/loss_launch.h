/*
 * loss_launch.h - the value of a loss on a device: the image is compared on the device, and
 * only a few numbers come back.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_LAUNCH_LOSS_LAUNCH_H
#define NB_GPU_LAUNCH_LOSS_LAUNCH_H

#include "gpu/gpu.h"
#include "physics/loss.h"

/* the comparison of the photons */
struct gpu_loss_job {
    struct phys_loss_model model;
    struct gpu_input observed, weight; /* the weight may be absent */
};

/*
 * Compute the loss of a job. Images on the host are sent in every call. `single` asks for
 * float, which is used under the same rule as for an image. *value is NaN or infinite where
 * the loss is. Errors: as gpu_forward(), with *value unchanged.
 */
nb_status gpu_loss(struct progress *progress, struct gpu_scene *scene,
                   const struct job *job, int single, const struct gpu_loss_job *loss,
                   double *value);

#endif
