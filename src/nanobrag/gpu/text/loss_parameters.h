/*
 * loss_parameters.h - the parameters of the loss kernel: the parameters of an image, the
 * target, and the totals.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_LOSS_PARAMETERS_H
#define NB_GPU_TEXT_LOSS_PARAMETERS_H

#include "gpu/text/derivatives/derivatives_parameters.h"

/* The totals of a tile. sum_block() adds up the values, but takes the maximum of the
 * last. */
enum { LOSS_VALUE, LOSS_BRIGHTEST, LOSS_LENGTH };

struct gpu_loss_parameters {
    struct gpu_parameters image; /* members about the image to be written are not used */
    struct gpu_target target;
    double *totals; /* ([tile of the launch][LOSS_LENGTH]) */
};

#endif
