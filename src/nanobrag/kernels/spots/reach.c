/* reach.c - see reach.h. SPDX-License-Identifier: MIT */
#include "kernels/spots/reach.h"

#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "kernels/grid.h"
#include "kernels/spots/strips.h"

/* The bits take at most so many words; when that is not enough, consecutive pairs share one
 * bit. */
enum { MOST_WORDS = 1 << 24 };

/* Enlarges the memory of the bits; returns 0 when that fails. */
static int grow_bits(struct spots_work *work, size_t words)
{
    if (words <= work->reach_words) return 1;
    free(work->reach);
    work->reach_words = 0;
    work->reach = malloc(words * sizeof *work->reach);
    if (work->reach) work->reach_words = words;
    return work->reach != NULL;
}

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

static int max_int(int a, int b)
{
    return a > b ? a : b;
}

struct marking {
    const struct reach *reach;
    const struct splat_kernels *splat_kernels;
};

/* Sets the bit of a pair in all cells that overlap a rectangle of samples inside the ROI.
 */
static void mark_cells(const struct reach *reach, const struct splat_area *splat_area,
                       const struct pair *pair, const struct outline *at)
{
    const int n = splat_area->frame->oversample, *roi = splat_area->roi;
    const int fast = max_int(at->fast[0] / n, roi[0]);
    const int slow = max_int(at->slow[0] / n, roi[2]);
    const int end_fast = min_int((at->fast[1] - 1) / n, roi[1] - 1);
    const int end_slow = min_int((at->slow[1] - 1) / n, roi[3] - 1);
    const size_t bit = reach_pair(reach, pair->index, pair->orientation);

    for (int s = slow / TILE_SLOW; s <= end_slow / TILE_SLOW; s++)
        for (int f = fast / CELL_FAST; f <= end_fast / CELL_FAST; f++)
            reach_cell(reach, f * CELL_FAST, s * TILE_SLOW)[bit / 64] |= (uint64_t)1
                                                                         << bit % 64;
}

/* Marks the cells that one pair reaches in a strip. A strip consists of whole rows of
 * tiles, so no two threads write to the same cell. */
static void mark_pair(const void *user, int chunk, const struct splat_area *splat_area,
                      const struct pair *pair, const struct reflections *list, int *hits)
{
    const struct marking *m = user;
    const int n = m->splat_kernels->scan(pair, list, hits);
    struct outline at[SPLAT_PAD];

    (void)chunk;
    for (int first = 0; first < n; first += SPLAT_PAD) {
        const int found =
            m->splat_kernels->outline(splat_area, pair, list, hits + first, n - first, at);

        for (int i = 0; i < found; i++) mark_cells(m->reach, splat_area, pair, at + i);
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

    out->first_fast = job->roi[0] / TILE_FAST * CELLS;
    out->first_slow = job->roi[2] / TILE_SLOW;
    out->across = grid_across(job) * CELLS;
    out->orientations = frame->norientation;
    out->group = 1 + cells * (pairs / 64 + 1) / MOST_WORDS;
    out->words = (pairs - 1) / out->group / 64 + 1;
    if (!grow_bits(work, cells * out->words))
        return fail_memory(progress->ctx, "a list of spots");
    out->bits = work->reach;
    memset(out->bits, 0, cells * out->words * sizeof *out->bits);
    return strips_run(progress, &strips);
}
