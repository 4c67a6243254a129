/*
 * gram.h - the products of all rows of a tile's Jacobian: see struct gram in kernels.h.
 *
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
