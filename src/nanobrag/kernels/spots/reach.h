/*
 * reach.h - the reach of a job: which pairs of source and orientation can have a spot in a
 * tile. If spots are small and few, most pairs do not reach a given tile, and the lanes
 * skip them there. Derivatives that the spots strategy does not support (spots_vjp.c) are
 * computed by lanes in this way.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_SPOTS_REACH_H
#define NB_KERNELS_SPOTS_REACH_H

#include <stddef.h>

#include "base/progress.h"
#include "kernels/job.h"
#include "kernels/kernels.h"
#include "kernels/spots/spots.h"

/* Reach is stored for each cell of a tile, CELL_FAST columns of its pixels, because fewer
 * pairs reach a smaller area. */
enum { CELL_FAST = 8, CELLS = TILE_FAST / CELL_FAST };

struct reach {
    int orientations;
    size_t group; /* number of consecutive pairs that share a bit */
    size_t words; /* 64-bit words of a cell */
    uint64_t *bits; /* the words of all cells; 1: a pair of the group may reach the cell */
};

/* Returns the words of the cell that contains column `fast` of tile `number`. */
static inline uint64_t *reach_cell(const struct reach *reach, int number, int fast)
{
    const size_t cell = (size_t)number * CELLS + (size_t)(fast % TILE_FAST / CELL_FAST);

    return reach->bits + cell * reach->words;
}

/* Returns which bit of a cell belongs to a pair of source and orientation. */
static inline size_t reach_pair(const struct reach *reach, int source, int orientation)
{
    return ((size_t)source * (size_t)reach->orientations + (size_t)orientation)
           / reach->group;
}

/* Returns 1 if a pair of source and orientation may reach `tile`, which is a cell or a part
 * of a cell. If `reach` is NULL, every pair may. */
static inline int reach_reaches(const struct reach *reach, const struct tile *tile,
                                int source, int orientation)
{
    size_t pair;

    if (!reach) return 1;
    pair = reach_pair(reach, source, orientation);
    return (int)(reach_cell(reach, tile->number, tile->fast)[pair / 64] >> (pair % 64) & 1);
}

/* Returns 1 when no pair reaches `tile`, which consists of cells or is a part of one. */
static inline int reach_is_empty(const struct reach *reach, const struct tile *tile)
{
    if (!reach) return 0;
    for (int f = tile->fast; f < tile->fast + tile->width; f += CELL_FAST) {
        const uint64_t *bits = reach_cell(reach, tile->number, f);

        for (size_t i = 0; i < reach->words; i++)
            if (bits[i]) return 0;
    }
    return 1;
}

/* Returns the next part of a tile to compute, which begins at cell *i, and sets *i to the
 * cell after it. The part is one cell, or several neighbouring cells that no pair reaches.
 * If `reach` is NULL, the part is one cell. */
struct tile reach_next(const struct reach *reach, const struct tile *tile, int *i);

/* Finds the reach of a job for the radius of the spots that `attempt` has. `work` owns the
 * memory of `out`. The search takes `share` of the progress. Errors: NB_ERR_MEMORY,
 * NB_ERR_CANCELLED. */
nb_status reach_find(struct progress *progress, const struct kernel_set *kernels,
                     const struct job *job, const struct spots_attempt *attempt,
                     double share, struct spots_work *work, struct reach *out);

#endif
