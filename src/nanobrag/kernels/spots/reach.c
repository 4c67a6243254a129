/* reach.c - finds which pairs of source and orientation can have a spot in a tile.
 * SPDX-License-Identifier: MIT */
#include "kernels/spots/reach.h"

#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "kernels/grid.h"
#include "kernels/spots/row_strips.h"

/* The largest number of 64-bit words for all bits. If more would be needed, consecutive
 * pairs share a bit. */
enum { MOST_WORDS = 1 << 24 };

/* Enlarges the memory of the bits; returns 0 if there is none. */
static int grow_bits(struct spots_work *work, size_t words)
{
    if (words <= work->reach_words) return 1;
    free(work->reach);
    work->reach_words = 0;
    work->reach = malloc(words * sizeof *work->reach);
    if (work->reach) work->reach_words = words;
    return work->reach != NULL;
}

/* Returns n cells of a tile, from cell i on, as one tile. */
static struct tile cells(const struct tile *tile, int i, int n)
{
    return grid_piece(tile, i * CELL_FAST, 0, n * CELL_FAST, TILE_SLOW);
}

struct tile reach_next(const struct reach *reach, const struct tile *tile, int *i)
{
    const int first = (*i)++;
    struct tile cell = cells(tile, first, 1);

    while (reach && reach_is_empty(reach, &cell) && *i < CELLS) {
        cell = cells(tile, *i, 1);
        if (reach_is_empty(reach, &cell)) (*i)++;
    }
    return cells(tile, first, *i - first);
}

/* The argument of mark_pair(). */
struct marking {
    const struct reach *reach;
    const struct splat_kernels *splat_kernels;
};

/* Sets the bit of a pair in each cell of the window's tiles that overlaps a rectangle of
 * samples. */
static void mark_cells(const struct reach *reach, const struct splat_layer *splat_layer,
                       const struct pair *pair, const struct outline *at)
{
    const int n = splat_layer->frame->oversample;
    const int fast = at->fast[0] / n / CELL_FAST, slow = at->slow[0] / n / TILE_SLOW;
    const int end_fast = (at->fast[1] - 1) / n / CELL_FAST;
    const int end_slow = (at->slow[1] - 1) / n / TILE_SLOW;
    const size_t bit = reach_pair(reach, pair->index, pair->orientation);

    for (int s = slow; s <= end_slow; s++)
        for (int f = fast; f <= end_fast; f++) {
            const struct tile *tile =
                window_tile_at(splat_layer->window, s * TILE_SLOW, f * CELL_FAST);

            if (tile)
                reach_cell(reach, tile->number, f * CELL_FAST)[bit / 64] |= (uint64_t)1
                                                                            << bit % 64;
        }
}

/* Sets the bits of one pair in the cells that it reaches in a strip. A strip consists of
 * whole rows of tiles, so no two threads write to the same cell. */
static void mark_pair(const void *user, int chunk, const struct splat_layer *splat_layer,
                      const struct pair *pair, const struct reflections *list, int *hits)
{
    const struct marking *m = user;
    const int n = m->splat_kernels->scan(pair, list, hits);
    struct outline at[SPLAT_PAD];

    (void)chunk;
    for (int first = 0; first < n; first += SPLAT_PAD) {
        const int found =
            m->splat_kernels->outline(splat_layer, pair, list, hits + first, n - first, at);

        for (int i = 0; i < found; i++) mark_cells(m->reach, splat_layer, pair, at + i);
    }
}

nb_status reach_find(struct progress *progress, const struct kernel_set *kernels,
                     const struct job *job, const struct spots_attempt *attempt,
                     double share, struct spots_work *work, struct reach *out)
{
    const struct phys_frame *frame = job->frame;
    const size_t pairs = (size_t)frame->nsource * (size_t)frame->norientation;
    const size_t cells = CELLS * (size_t)grid_count(job);
    const struct marking marking = {out, kernels->splat_precise};
    const struct strips strips = {
        .job = job,
        .radius = attempt->radius,
        .share = share,
        .visit = mark_pair,
        .user = &marking,
        .work = work,
    };

    out->orientations = frame->norientation;
    out->group = 1 + cells * (pairs / 64 + 1) / MOST_WORDS;
    out->words = (pairs - 1) / out->group / 64 + 1;
    if (!grow_bits(work, cells * out->words))
        return fail_memory(progress->ctx, "a list of spots");
    out->bits = work->reach;
    memset(out->bits, 0, cells * out->words * sizeof *out->bits);
    return strips_run(progress, &strips);
}
