/* live.c - see live.h. SPDX-License-Identifier: MIT */
#include "kernels/live.h"

#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "kernels/bands.h"
#include "kernels/grid.h"

/* bits take this much memory; where they would need more, neighbours share one */
enum { MOST_WORDS = 1 << 24 };

static int grow(struct spots_work *work, size_t words)
{
    if (words <= work->live_words) return 1;
    free(work->live);
    work->live_words = 0;
    work->live = malloc(words * sizeof *work->live);
    if (work->live) work->live_words = words;
    return work->live != NULL;
}

static int lower(int a, int b)
{
    return a < b ? a : b;
}

static int higher(int a, int b)
{
    return a > b ? a : b;
}

struct marking {
    const struct live *live;
    const struct painter *painter;
};

/* the bit of a pair in all cells that a rectangle of samples touches, within the ROI */
static void mark(const struct live *l, const struct canvas *canvas,
                 const struct pairing *pair, const struct outline *at)
{
    const int n = canvas->frame->oversample, *roi = canvas->roi;
    const int fast = higher(at->fast[0] / n, roi[0]);
    const int slow = higher(at->slow[0] / n, roi[2]);
    const int end_fast = lower((at->fast[1] - 1) / n, roi[1] - 1);
    const int end_slow = lower((at->slow[1] - 1) / n, roi[3] - 1);
    const size_t bit = live_pair(l, pair->index, pair->orientation);

    for (int s = slow / TILE_SLOW; s <= end_slow / TILE_SLOW; s++)
        for (int f = fast / CELL_FAST; f <= end_fast / CELL_FAST; f++)
            live_cell(l, f * CELL_FAST, s * TILE_SLOW)[bit / 64] |= (uint64_t)1 << bit % 64;
}

/* a band holds whole rows of tiles, so no two threads write to the same cell */
static void mark_pair(const void *user, int chunk, const struct canvas *canvas,
                      const struct pairing *pair, const struct reflections *list, int *hits)
{
    const struct marking *m = user;
    const int n = m->painter->scan(pair, list, hits);
    struct outline at[PAINT_PAD];

    (void)chunk;
    for (int first = 0; first < n; first += PAINT_PAD) {
        const int found =
            m->painter->outline(canvas, pair, list, hits + first, n - first, at);

        for (int i = 0; i < found; i++) mark(m->live, canvas, pair, at + i);
    }
}

nb_status live_find(struct headway *headway, const struct kernel_set *kernels,
                    const struct job *job, const struct spots_trial *trial, double share,
                    struct spots_work *work, struct live *out)
{
    const struct phys_frame *frame = job->frame;
    const size_t pairs = (size_t)frame->nsource * (size_t)frame->norientation;
    const size_t cells = CELLS * (size_t)grid_count(job);
    const struct marking marking = {out, kernels->paint_precise};
    const struct bands bands = {
        .job = job,
        .radius = trial->radius,
        .share = share,
        .pair = mark_pair,
        .user = &marking,
        .work = work,
    };

    out->first_fast = job->roi[0] / TILE_FAST * CELLS;
    out->first_slow = job->roi[2] / TILE_SLOW;
    out->across = grid_across(job) * CELLS;
    out->orientations = frame->norientation;
    out->group = 1 + cells * (pairs / 64 + 1) / MOST_WORDS;
    out->words = (pairs - 1) / out->group / 64 + 1;
    if (!grow(work, cells * out->words))
        return fail_memory(headway->ctx, "a list of spots");
    out->bits = work->live;
    memset(out->bits, 0, cells * out->words * sizeof *out->bits);
    return bands_run(headway, &bands);
}
