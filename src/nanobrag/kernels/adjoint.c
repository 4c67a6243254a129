/* adjoint.c - see adjoint.h. SPDX-License-Identifier: MIT */
#include "kernels/adjoint.h"

#include <stddef.h>
#include <string.h>

#include "kernels/grid.h"
#include "kernels/headway.h"

/* chunks share this much memory, but are enough for the threads of a large machine */
enum { MOST_CHUNKS = 64, LEAST_CHUNKS = 4, CHUNK_MEMORY = 1 << 28 };

static int chunks_of(const struct adjoint_sizes *n)
{
    const double bytes = (double)n->sources * sizeof(struct phys_source)
                         + (double)n->orientations * sizeof(struct phys_turn)
                         + (double)n->box * sizeof(double);
    const double fit = CHUNK_MEMORY / (bytes + 1);

    return fit > MOST_CHUNKS ? MOST_CHUNKS : fit < LEAST_CHUNKS ? LEAST_CHUNKS : (int)fit;
}

int adjoint_reserve(struct arena *arena, const struct adjoint_sizes *n)
{
    const size_t chunks = (size_t)chunks_of(n);
    int fits = arena_reserve(arena, chunks, sizeof(struct phys_slope))
               && arena_reserve(arena, chunks, sizeof(double));

    for (size_t i = 0; i < chunks; i++)
        fits = fits && arena_reserve(arena, n->sources, sizeof(struct phys_source))
               && arena_reserve(arena, n->orientations, sizeof(struct phys_turn))
               && arena_reserve(arena, n->box, sizeof(double));
    return fits;
}

void adjoint_take(struct arena *arena, const struct adjoint_sizes *n,
                  struct adjoint_work *out)
{
    out->sizes = *n;
    out->chunks = chunks_of(n);
    out->bar = arena_take(arena, (size_t)out->chunks, sizeof *out->bar);
    out->value = arena_take(arena, (size_t)out->chunks, sizeof *out->value);
    for (int i = 0; i < out->chunks; i++) {
        struct phys_slope *bar = out->bar + i;

        bar->source = arena_take(arena, n->sources, sizeof *bar->source);
        bar->turn = arena_take(arena, n->orientations, sizeof *bar->turn);
        bar->f = arena_take(arena, n->box, sizeof *bar->f);
        if (n->box == 0) bar->f = NULL;
    }
}

static void blank(const struct adjoint_sizes *n, struct phys_slope *bar)
{
    struct phys_slope none = {0};

    none.source = bar->source;
    none.turn = bar->turn;
    none.f = bar->f;
    *bar = none;
    memset(bar->source, 0, n->sources * sizeof *bar->source);
    memset(bar->turn, 0, n->orientations * sizeof *bar->turn);
    if (bar->f) memset(bar->f, 0, n->box * sizeof *bar->f);
}

static void add(size_t n, const void *from, void *to)
{
    const double *restrict f = from;
    double *restrict t = to;

    for (size_t i = 0; i < n; i++) t[i] += f[i];
}

static void fold(const struct adjoint_sizes *n, const struct phys_slope *from,
                 struct phys_slope *to)
{
    add(offsetof(struct phys_slope, source) / sizeof(double), from, to);
    add(n->sources * (sizeof *to->source / sizeof(double)), from->source, to->source);
    add(n->orientations * (sizeof *to->turn / sizeof(double)), from->turn, to->turn);
    if (to->f) add(n->box, from->f, to->f);
}

double pull_tile(const struct pull *pull, const struct job *job, const struct tile *tile,
                 const double *photons, double *bar)
{
    const size_t nfast = (size_t)job->frame->nfast;
    const int *roi = job->roi;
    double sum = 0;

    memset(bar, 0, sizeof *bar * (size_t)(tile->width * tile->height));
    for (int row = 0; row < tile->height; row++) {
        const int s = tile->slow + row;
        int at = roi[0] > tile->fast ? roi[0] - tile->fast : 0;
        const int end =
            roi[1] - tile->fast < tile->width ? roi[1] - tile->fast : tile->width;

        if (s < roi[2] || s >= roi[3]) continue;
        while (at < end) {
            const size_t first = (size_t)s * nfast + (size_t)(tile->fast + at);
            const size_t place = (size_t)row * (size_t)tile->width + (size_t)at;
            int n = 0;

            while (at + n < end && (!job->mask || job->mask[first + (size_t)n])) n++;
            if (n > 0) sum += pull->row(pull->user, first, n, photons + place, bar + place);
            at += n + 1;
        }
    }
    return sum;
}

nb_status adjoint_run(nb_context *ctx, const struct kernel_set *kernels,
                      const struct job *job, const struct pull *pull,
                      struct adjoint_work *work)
{
    const struct kernels *use =
        kernels->precise->vjp[0][0] ? kernels->precise : &kernels_reference;
    tile_vjp *vjp = use->vjp[job->spec.shape][job->spec.lookup];
    const int count = grid_count(job);
    const int threads = ctx->threads < work->chunks ? ctx->threads : work->chunks;
    struct headway headway;

    headway_start(&headway, ctx);
    headway_part(&headway, 0, 1, count);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int chunk = 0; chunk < work->chunks; chunk++) {
        blank(&work->sizes, work->bar + chunk);
        work->value[chunk] = 0;
        for (int t = chunk; t < count; t += work->chunks) {
            const struct tile tile = grid_tile(job, t);

            if (headway_stopped(&headway)) continue;
            if (grid_rendered(job, &tile) > 0)
                work->value[chunk] += vjp(job, &tile, pull, work->bar + chunk);
            headway_step(&headway);
        }
    }
    (void)threads; /* unused without OpenMP */
    for (int chunk = 1; chunk < work->chunks; chunk++) {
        fold(&work->sizes, work->bar + chunk, work->bar);
        work->value[0] += work->value[chunk];
    }
    return headway_end(&headway);
}
