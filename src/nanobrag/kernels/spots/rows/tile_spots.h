/*
 * tile_spots.h - lists of the spots of a job, tile by tile, for the rows of its Jacobian.
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
    size_t n; /* number of spots */
    struct tile_spot *spot; /* (most), in the order of finding */
    unsigned *order; /* (ordered) indices in `spot`, sorted by tile */
    /* (tiles) where each tile begins in `order`; then the end of the last */
    unsigned *first;
    size_t most, ordered, tiles; /* allocated lengths of the arrays */
};

/* Returns 1 if the rows of a job can be computed from its spots: all samples of a pixel
 * must have the same factors, F must not be interpolated, and the shape must not be
 * square. */
int tile_spots_suit(const struct job *job);

/* A batch: neighbouring strips (kernels/spots/row_strips.h) whose spots are listed
 * together. The lists do not grow with the detector, and no result depends on the size of a
 * batch. */
struct spot_batch {
    int strips; /* the largest number of strips that the next batch takes */
    int end_strip; /* the strip after the last one of this batch */
    int tile, end; /* the tiles of this batch, end excluded, in the order of the window */
};

/* Returns an empty batch before the first. The last batch ends with the last tile of the
 * window. */
struct spot_batch tile_spots_start(const struct attempts *attempts);

/* Lists the spots of the next batch in the attempts' workspace, in place of the last batch.
 * *listed becomes 0 if a single strip has too many spots. The search counts as the share
 * attempts->begin of the batch's progress. Errors: NB_ERR_MEMORY, NB_ERR_CANCELLED. */
nb_status tile_spots_find(struct progress *progress, const struct attempts *attempts,
                          struct spot_batch *batch, int *listed);

/* Returns the spots of a tile of the batch, for the job of its panel. */
struct spot_list tile_spots_of(const struct spots_work *work, const struct job *job,
                               const struct tile *tile);

/* Fills in the numbers that all tiles of a panel share. The arrays of `out` must have
 * memory for all tangents and orientations of the frame. `least` is the share of a spot's
 * peak at which spots of an image end. */
void tile_spots_tangents(const struct job *job, const struct tangents *along, double least,
                         struct row_tangents *out);

void tile_spots_free(struct spots_work *work);

/* Returns the bytes of memory that the lists take. */
size_t tile_spots_bytes(const struct spots_work *work);

#endif
