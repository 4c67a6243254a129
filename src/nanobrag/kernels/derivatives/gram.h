/*
 * gram.h - declares the function that multiplies the rows of a tile's Jacobian (struct gram
 * in kernels.h), one for each instruction set.
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_DERIVATIVES_GRAM_H
#define NB_KERNELS_DERIVATIVES_GRAM_H

#include "kernels/kernels.h"

#define TILE_GRAM_JOINED(kernels) kernels##_gram
#define TILE_GRAM_OF(kernels)     TILE_GRAM_JOINED(kernels)
#define TILE_GRAM                 TILE_GRAM_OF(KERNELS_IN_DOUBLE)
#ifdef KERNELS_IN_DOUBLE
extern tile_gram TILE_GRAM;
#endif

#endif
