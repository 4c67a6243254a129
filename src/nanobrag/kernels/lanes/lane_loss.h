/*
 * lane_loss.h - declares the loss of a run of pixels by lanes, which lane_loss.c defines.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_LANES_LANE_LOSS_H
#define NB_KERNELS_LANES_LANE_LOSS_H

#include "kernels/kernels.h"

#define LANE_LOSS_JOINED(kernels) kernels##_loss
#define LANE_LOSS_OF(kernels)     LANE_LOSS_JOINED(kernels)
#define LANE_LOSS                 LANE_LOSS_OF(KERNELS_IN_DOUBLE)
extern loss_of_pixels LANE_LOSS;

#endif
