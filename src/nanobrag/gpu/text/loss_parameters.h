/*
 * loss_parameters.h - the parameters of the loss kernel: the parameters of an image, the
 * target, and the totals.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_LOSS_PARAMETERS_H
#define NB_GPU_TEXT_LOSS_PARAMETERS_H

#include "gpu/text/derivatives/derivatives_parameters.h"

/* The totals of a tile. sum_block() adds them up; the last one is combined by the maximum
 * instead. */
enum { LOSS_VALUE, LOSS_BRIGHTEST, LOSS_LENGTH };

struct gpu_loss_parameters {
    struct gpu_parameters image; /* its members image and photons are not used */
    struct gpu_target target;
    double *totals; /* ([tile of the launch][LOSS_LENGTH]) */
};

#endif
