/*
 * loss_launch.h - the value of a loss on a device: the image is compared there, and numbers
 * alone come back.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_LOSS_LAUNCH_H
#define NB_GPU_LOSS_LAUNCH_H

#include "gpu/gpu.h"
#include "physics/loss.h"

/* what the photons are compared with */
struct gpu_loss_job {
    struct phys_loss_model model;
    struct gpu_input observed, weight; /* weight: or none */
};

/*
 * The loss of a job, added up over its pixels: tiles by a tree of fixed shape, so that
 * neither bands nor the order of blocks have a say in the bits. Images of the host are sent
 * in every call. `single`: float was asked for, and is used as for an image. *value is not
 * a number, or infinite, where the loss is. Errors: as of gpu_forward(), *value untouched.
 */
nb_status gpu_loss(struct progress *progress, struct gpu_scene *scene,
                   const struct job *job, int single, const struct gpu_loss_job *loss,
                   double *value);

#endif
