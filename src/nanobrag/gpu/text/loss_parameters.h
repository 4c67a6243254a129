/*
 * loss_parameters.h - the parameters of the loss kernel: those of an image, the target,
 * and the totals.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_LOSS_PARAMETERS_H
#define NB_GPU_TEXT_LOSS_PARAMETERS_H

#include "gpu/text/derivatives/derivatives_parameters.h"

/* The totals of a tile. sum_block() adds them up, except for the last, of which it finds
 * the largest. */
enum { LOSS_VALUE, LOSS_BRIGHTEST, LOSS_LENGTH };

struct gpu_loss_parameters {
    struct gpu_parameters image; /* its members image and photons are not used */
    struct gpu_target target;
    double *totals; /* ([tile of the launch][LOSS_LENGTH]) */
};

#endif
