/*
 * loss_parameters.h - what the kernel of a loss is given besides the parameters of an
 * image.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_LOSS_PARAMETERS_H
#define NB_GPU_TEXT_LOSS_PARAMETERS_H

#include "gpu/text/derivatives/derivatives_parameters.h"

/* numbers of a tile, in the order of sum_block.h, whose last is the largest of all */
enum { LOSS_VALUE, LOSS_BRIGHTEST, LOSS_LENGTH };

struct gpu_loss_parameters {
    struct gpu_parameters image; /* its image and photons are unused */
    struct gpu_target target;
    double *totals; /* ([tile of the launch][LOSS_LENGTH]) */
};

#endif
