/*
 * loss_launch.h - the value of a loss on a device. The photons are compared with the target
 * on the device, and only a few numbers come back.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_LAUNCH_LOSS_LAUNCH_H
#define NB_GPU_LAUNCH_LOSS_LAUNCH_H

#include "gpu/gpu.h"
#include "physics/loss.h"

/* The loss to compute. */
struct gpu_loss_job {
    struct phys_loss_model model;
    struct gpu_input observed, weight; /* the weight may be absent */
};

/* Compute the loss of a job. Images on the host are uploaded if they have changed. `single`
 * asks for float, which is used where it is accurate enough for the image. *value is NaN or
 * infinite if the loss is. Errors: as for gpu_forward(); *value is then unchanged. */
nb_status gpu_loss(struct progress *progress, struct gpu_scene *scene,
                   const struct job *job, int single, const struct gpu_loss_job *loss,
                   double *value);

#endif
