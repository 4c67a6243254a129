/*
 * normal.c - see normal.h. Chunks of tiles as in adjoint.c: the same bits for any number of
 * threads.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/normal.h"

#include <string.h>

#include "kernels/grid.h"
#include "kernels/headway.h"

enum { MOST_CHUNKS = 64, CHUNK_MEMORY = 1 << 28 };

static int chunks_of(const struct normal_sizes *n)
{
    const double d = (double)n->dense, f = (double)n->f;
    const double bytes = sizeof(double) * (d * d + 2 * d + 4 * f + d * f)
                         + sizeof(struct phys_source) * (double)n->sources
                         + sizeof(struct phys_turn) * (double)n->orientations
                         + 13 * (double)n->box;
    const double fit = CHUNK_MEMORY / bytes;

    return fit > MOST_CHUNKS ? MOST_CHUNKS : fit < 1 ? 1 : (int)fit;
}

int normal_reserve(struct arena *arena, const struct normal_sizes *n)
{
    const size_t chunks = (size_t)chunks_of(n);
    int fits = arena_reserve(arena, chunks, sizeof(struct normal_chunk))
               && arena_reserve(arena, n->dense, sizeof(struct phys_slope))
               && arena_reserve(arena, n->box, sizeof(int));

    for (size_t i = 0; i < n->dense; i++)
        fits = fits && arena_reserve(arena, n->sources, sizeof(struct phys_source))
               && arena_reserve(arena, n->orientations, sizeof(struct phys_turn));
    for (size_t i = 0; i < chunks; i++)
        fits = fits && arena_reserve(arena, n->sources, sizeof(struct phys_source))
               && arena_reserve(arena, n->orientations, sizeof(struct phys_turn))
               && arena_reserve(arena, n->box, sizeof(double))
               && arena_reserve(arena, n->box, sizeof(int))
               && arena_reserve(arena, n->box, 1)
               && arena_reserve(arena, n->dense, sizeof(double))
               && arena_reserve(arena, n->f, sizeof(double))
               && arena_reserve(arena, n->box, sizeof(int))
               && arena_reserve(arena, n->dense * n->dense, sizeof(double))
               && arena_reserve(arena, n->dense, sizeof(double))
               && arena_reserve(arena, n->f, sizeof(double))
               && arena_reserve(arena, n->f, sizeof(double))
               && arena_reserve(arena, n->dense * n->f, sizeof(double));
    return fits;
}

static void take_chunk(struct arena *arena, const struct normal_sizes *n,
                       struct normal_chunk *c)
{
    c->bar.source = arena_take(arena, n->sources, sizeof *c->bar.source);
    c->bar.turn = arena_take(arena, n->orientations, sizeof *c->bar.turn);
    c->bar.f = arena_take(arena, n->box, sizeof *c->bar.f);
    c->touched.place = arena_take(arena, n->box, sizeof *c->touched.place);
    c->touched.mark = arena_take(arena, n->box, 1);
    c->slope = arena_take(arena, n->dense, sizeof *c->slope);
    c->f_slope = arena_take(arena, n->f, sizeof *c->f_slope);
    c->f_used = arena_take(arena, n->box, sizeof *c->f_used);
    c->sums.matrix = arena_take(arena, n->dense * n->dense, sizeof(double));
    c->sums.gradient = arena_take(arena, n->dense, sizeof(double));
    c->sums.f_diagonal = arena_take(arena, n->f, sizeof(double));
    c->sums.f_gradient = arena_take(arena, n->f, sizeof(double));
    c->sums.coupling = arena_take(arena, n->dense * n->f, sizeof(double));
    c->bar.touched = &c->touched;
    if (n->box == 0) c->bar.f = NULL;
}

void normal_take(struct arena *arena, const struct normal_sizes *n, struct normal_work *out)
{
    out->sizes = *n;
    out->chunks = chunks_of(n);
    out->chunk = arena_take(arena, (size_t)out->chunks, sizeof *out->chunk);
    out->tangent = arena_take(arena, n->dense, sizeof *out->tangent);
    out->owner = arena_take(arena, n->box, sizeof *out->owner);
    for (size_t i = 0; i < n->dense; i++) {
        out->tangent[i].source =
            arena_take(arena, n->sources, sizeof *out->tangent->source);
        out->tangent[i].turn =
            arena_take(arena, n->orientations, sizeof *out->tangent->turn);
    }
    for (int i = 0; i < out->chunks; i++) take_chunk(arena, n, out->chunk + i);
}

/* slopes of the photons of a pixel: in the frame to c->bar, in the parameters to c->slope
 */
static void pixel_slopes(const struct normal_work *work, const struct job *job, int s,
                         int f, struct normal_chunk *c)
{
    const struct phys_frame *frame = job->frame;
    const struct phys_slope kept = c->bar;

    memset(&c->bar, 0, sizeof c->bar);
    c->bar.source = kept.source;
    c->bar.turn = kept.turn;
    c->bar.f = kept.f;
    c->bar.touched = kept.touched;
    memset(c->bar.source, 0, work->sizes.sources * sizeof *c->bar.source);
    memset(c->bar.turn, 0, work->sizes.orientations * sizeof *c->bar.turn);
    reference_pixel_vjp(job->spec, frame, s, f, &c->bar);
    for (size_t i = 0; i < work->sizes.dense; i++)
        c->slope[i] = phys_slope_inner(frame->nsource, frame->norientation, &c->bar,
                                       work->tangent + i);
}

/* slopes in the structure factors, from the places that the pixel touched, which become 0
 * again; returns how many they are */
static int gather_f(const struct normal_work *work, struct normal_chunk *c)
{
    int used = 0;

    for (int i = 0; i < c->touched.n; i++) {
        const int place = c->touched.place[i], owner = work->owner[place];
        const double slope = c->bar.f[place];

        c->bar.f[place] = 0;
        c->touched.mark[place] = 0;
        if (owner == NORMAL_DEFAULT) c->slope[work->default_f] += slope;
        if (owner < 0 || slope == 0) continue;
        if (c->f_slope[owner] == 0) c->f_used[used++] = owner;
        c->f_slope[owner] += slope;
    }
    c->touched.n = 0;
    return used;
}

static void add_pixel(const struct normal_sizes *n, double bar, double weight, int used,
                      struct normal_chunk *c)
{
    struct normal_sums *sums = &c->sums;

    for (size_t i = 0; i < n->dense; i++) {
        const double weighted = weight * c->slope[i];

        sums->gradient[i] += bar * c->slope[i];
        for (size_t k = 0; k <= i; k++)
            sums->matrix[i * n->dense + k] += weighted * c->slope[k];
    }
    for (int u = 0; u < used; u++) {
        const size_t f = (size_t)c->f_used[u];
        const double slope = c->f_slope[f];

        c->f_slope[f] = 0; /* and again, should a place have cancelled */
        sums->f_gradient[f] += bar * slope;
        sums->f_diagonal[f] += weight * slope * slope;
        for (size_t i = 0; i < n->dense; i++)
            sums->coupling[i * n->f + f] += weight * c->slope[i] * slope;
    }
}

static void blank_sums(const struct normal_sizes *n, struct normal_sums *s)
{
    memset(s->matrix, 0, n->dense * n->dense * sizeof(double));
    memset(s->gradient, 0, n->dense * sizeof(double));
    memset(s->f_diagonal, 0, n->f * sizeof(double));
    memset(s->f_gradient, 0, n->f * sizeof(double));
    memset(s->coupling, 0, n->dense * n->f * sizeof(double));
    s->value = 0;
}

static void add(size_t n, const double *from, double *to)
{
    for (size_t i = 0; i < n; i++) to[i] += from[i];
}

static void fold(const struct normal_sizes *n, const struct normal_sums *from,
                 struct normal_sums *to)
{
    add(n->dense * n->dense, from->matrix, to->matrix);
    add(n->dense, from->gradient, to->gradient);
    add(n->f, from->f_diagonal, to->f_diagonal);
    add(n->f, from->f_gradient, to->f_gradient);
    add(n->dense * n->f, from->coupling, to->coupling);
    to->value += from->value;
}

static void tile_normal(const struct kernel_set *kernels, const struct job *job,
                        const struct pull *pull, const struct normal_work *work,
                        const struct tile *tile, struct normal_chunk *c)
{
    double photons[TILE_PIXELS], bar[TILE_PIXELS], weight[TILE_PIXELS];

    kernels->precise->forward[job->spec.shape][job->spec.lookup](job->frame, tile, photons);
    c->sums.value += pull_tile(pull, job, tile, photons, bar, weight);
    for (int i = 0; i < tile->width * tile->height; i++) {
        int used = 0;

        if (bar[i] == 0 && weight[i] == 0) continue;
        pixel_slopes(work, job, tile->slow + i / tile->width, tile->fast + i % tile->width,
                     c);
        if (c->bar.f) used = gather_f(work, c);
        add_pixel(&work->sizes, bar[i], weight[i], used, c);
    }
}

static void complete(const struct normal_sizes *n, double *matrix)
{
    for (size_t i = 0; i < n->dense; i++)
        for (size_t k = 0; k < i; k++) matrix[k * n->dense + i] = matrix[i * n->dense + k];
}

nb_status normal_run(nb_context *ctx, const struct kernel_set *kernels,
                     const struct job *job, const struct pull *pull,
                     struct normal_work *work)
{
    const int count = grid_count(job);
    const int threads = ctx->threads < work->chunks ? ctx->threads : work->chunks;
    struct headway headway;

    headway_start(&headway, ctx);
    headway_part(&headway, 0, 1, count);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int k = 0; k < work->chunks; k++) {
        struct normal_chunk *chunk = work->chunk + k;

        blank_sums(&work->sizes, &chunk->sums);
        for (int t = k; t < count; t += work->chunks) {
            const struct tile tile = grid_tile(job, t);

            if (headway_stopped(&headway)) continue;
            if (grid_rendered(job, &tile) > 0)
                tile_normal(kernels, job, pull, work, &tile, chunk);
            headway_step(&headway);
        }
    }
    (void)threads; /* unused without OpenMP */
    for (int k = 1; k < work->chunks; k++)
        fold(&work->sizes, &work->chunk[k].sums, &work->chunk[0].sums);
    complete(&work->sizes, work->chunk[0].sums.matrix);
    return headway_end(&headway);
}
