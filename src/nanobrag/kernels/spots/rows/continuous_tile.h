/*
 * continuous_tile.h - the rows of a tile's Jacobian for a continuous crystal. Its spots
 * contain the derivatives by the places of their samples.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_SPOTS_ROWS_CONTINUOUS_TILE_H
#define NB_KERNELS_SPOTS_ROWS_CONTINUOUS_TILE_H

#include "kernels/spots/rows/spot_rows.h"

struct continuous_rows;

/* Computes the same as a spot_rows() kernel, from all spots that reach the part of a tile.
 * Returns 1 if the result includes the amorphous material. */
typedef int continuous_tile(const struct job *job, const struct tile *part,
                            const struct row_tangents *of,
                            const struct continuous_rows *rows, struct columns *columns,
                            double *photons, double *change);

#define CONTINUOUS_TILE_JOINED(kernels) kernels##_continuous_tile
#define CONTINUOUS_TILE_OF(kernels)     CONTINUOUS_TILE_JOINED(kernels)
#define CONTINUOUS_TILE                 CONTINUOUS_TILE_OF(KERNELS_IN_DOUBLE)
#ifdef KERNELS_IN_DOUBLE
extern continuous_tile CONTINUOUS_TILE;
#endif

#endif
