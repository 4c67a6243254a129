/*
 * tile_spots.h - the spots of a job listed tile by tile, for the rows of its Jacobian.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_SPOTS_ROWS_TILE_SPOTS_H
#define NB_KERNELS_SPOTS_ROWS_TILE_SPOTS_H

#include "base/progress.h"
#include "kernels/kernels.h"
#include "kernels/spots/attempts.h"
#include "kernels/spots/spots.h"

/* The spots of a row of tiles. */
struct spot_row {
    size_t n; /* spots */
    struct tile_spot *spot; /* (most), as they were found */
    unsigned *order; /* (ordered) their numbers, tile after tile */
    unsigned *first; /* (tiles) where each tile begins in `order`, and the end */
    size_t most, ordered, tiles; /* sizes of the arrays */
};

/* Returns 1 when the rows of a job can be computed from its spots: all samples of a pixel
 * have the same factor, F is not interpolated, and the shape is not square. */
int tile_spots_suit(const struct job *job);

/* Neighbouring strips (kernels/spots/row_strips.h) whose spots are listed at a time, so
 * that the lists do not grow with the detector. No result depends on how many they are. */
struct spot_batch {
    int strips; /* the most strips that the next batch takes */
    int end_strip; /* end of the strips of this batch */
    int tile, end; /* the tiles of this batch, in the order of the window */
};

/* Returns the batch before the first, which has no tiles; the last one ends with the last
 * tile of the window. */
struct spot_batch tile_spots_start(const struct attempts *attempts);

/* Lists the spots of the next batch in the attempts' workspace; the old batch is
 * overwritten. *listed becomes 0 if a single strip has too many. The search takes the share
 * attempts->begin of the batch's progress. Errors: NB_ERR_MEMORY, NB_ERR_CANCELLED. */
nb_status tile_spots_find(struct progress *progress, const struct attempts *attempts,
                          struct spot_batch *batch, int *listed);

/* Returns the spots of a tile of the batch, for the job of its panel. */
struct spot_list tile_spots_of(const struct spots_work *work, const struct job *job,
                               const struct tile *tile);

/* Fills in the numbers that all tiles of a panel share. Its arrays have memory for all
 * tangents and for all orientations of the frame. */
void tile_spots_tangents(const struct job *job, const struct tangents *along, double least,
                         struct row_tangents *out);

void tile_spots_free(struct spots_work *work);

/* Returns the bytes of memory that the lists take. */
size_t tile_spots_bytes(const struct spots_work *work);

#endif
