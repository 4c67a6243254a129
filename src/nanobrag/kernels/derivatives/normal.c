/*
 * normal.c - sums the normal matrix of an image from its Jacobian. The matrix is summed by
 * chunks of tiles as in adjoint.c, so it has the same bits for any number of threads.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/derivatives/normal.h"

#include <string.h>

#include "kernels/grid.h"

enum { CHUNK_MEMORY = 1 << 28 };

/* Returns how many numbers the sums of one chunk hold. */
static double numbers_per_chunk(const struct jacobian_sizes *n)
{
    const double d = (double)n->tangents, f = (double)n->f;

    return d * d + d + 2 * f + d * f;
}

static int chunks_of(const struct jacobian_sizes *n)
{
    const double bytes = (double)sizeof(double) * (numbers_per_chunk(n) + 1);
    const double fit = CHUNK_MEMORY / bytes;

    return fit > JACOBIAN_CHUNKS ? JACOBIAN_CHUNKS : fit < 1 ? 1 : (int)fit;
}

void normal_take(struct arena *arena, const struct jacobian_sizes *n,
                 struct normal_work *out)
{
    const size_t d = n->tangents;

    jacobian_take(arena, n, &out->jacobian);
    out->chunks = chunks_of(n);
    out->sums = arena_take(arena, (size_t)out->chunks, sizeof *out->sums);
    out->moving = arena_take(arena, (size_t)out->chunks * n->at_once, sizeof *out->moving);
    for (int i = 0; i < out->chunks; i++) {
        struct normal_sums none, *s = out->sums ? out->sums + i : &none;

        s->matrix = arena_take(arena, d * d, sizeof(double));
        s->gradient = arena_take(arena, d, sizeof(double));
        s->f_diagonal = arena_take(arena, n->f, sizeof(double));
        s->f_gradient = arena_take(arena, n->f, sizeof(double));
        s->coupling = arena_take(arena, d * n->f, sizeof(double));
    }
}

static void clear_sums(const void *user, int chunk)
{
    const struct normal_run *run = user;
    const struct jacobian_sizes *n = &run->work->jacobian.sizes;
    struct normal_sums *s = run->work->sums + chunk;

    memset(s->matrix, 0, n->tangents * n->tangents * sizeof(double));
    memset(s->gradient, 0, n->tangents * sizeof(double));
    memset(s->f_diagonal, 0, n->f * sizeof(double));
    memset(s->f_gradient, 0, n->f * sizeof(double));
    memset(s->coupling, 0, n->tangents * n->f * sizeof(double));
    s->value = 0;
    if (run->planes) planes_clear(run->planes, chunk);
}

/* The slopes and weights that the objective gives to a tile's pixels. */
struct weights {
    int n, lanes; /* number of pixels, and length of a column (kernels/grid.h) */
    double bar[TILE_PIXELS], weight[TILE_PIXELS]; /* dL/dphotons; weights in the matrix */
};

static void multiply(int n, const double *a, const double *b, double *out)
{
    for (int i = 0; i < n; i++) out[i] = a[i] * b[i];
}

/* Adds the products of a tile's columns to the sums by structure factors. */
static void add_structure_factors(int coupling, const struct jacobian_sizes *n,
                                  const struct adjoint_kernels *adjoint_kernels,
                                  const struct jacobian_tile *jacobian,
                                  const struct weights *w, struct normal_sums *s)
{
    double weighted[TILE_PIXELS];

    for (int c = 0; c < jacobian->columns->n; c++) {
        const size_t f = (size_t)jacobian->columns->used[c];
        const double *column = jacobian->columns->slope + (size_t)c * (size_t)w->lanes;

        if (f >= n->f) continue; /* the column of default_f, which is a dense parameter */
        multiply(w->n, w->weight, column, weighted);
        s->f_gradient[f] += adjoint_kernels->product(w->n, w->bar, column);
        s->f_diagonal[f] += adjoint_kernels->product(w->n, weighted, column);
        for (size_t k = 0; coupling && k < jacobian->of->n; k++)
            s->coupling[jacobian_which(jacobian->of, k) * n->f + f] +=
                adjoint_kernels->product(w->n, weighted,
                                         jacobian->change + k * TILE_PIXELS);
    }
}

/* Adds the contribution of a tile's Jacobian to the sums of its chunk. */
static void add_tile(const void *user, int chunk, const struct job *job,
                     const struct adjoint_kernels *adjoint_kernels,
                     const struct jacobian_tile *jacobian)
{
    const struct normal_run *run = user;
    const struct jacobian_sizes *n = &run->work->jacobian.sizes;
    struct normal_sums *s = run->work->sums + chunk;
    struct weights w;

    w.n = grid_rendered(&jacobian->tile);
    w.lanes = grid_lanes(&jacobian->tile);
    s->value += objective_tile(run->objective, job, &jacobian->tile, jacobian->photons,
                               w.bar, w.weight);
    const struct gram gram = {.n = w.n,
                              .lanes = w.lanes,
                              .rows = (int)jacobian->of->n,
                              .change = jacobian->change,
                              .bar = w.bar,
                              .weight = w.weight,
                              .to = jacobian->of->which,
                              .moving = run->work->moving + (size_t)chunk * n->at_once,
                              .gradient = s->gradient,
                              .matrix = s->matrix,
                              .stride = n->tangents};

    adjoint_kernels->gram(&gram);
    if (jacobian->columns)
        add_structure_factors(run->coupling, n, adjoint_kernels, jacobian, &w, s);
    if (run->planes) planes_add_tile(run->planes, chunk, adjoint_kernels, jacobian);
}

static void ask_ahead(const void *user, const struct job *image, const struct tile *tile)
{
    const struct normal_run *run = user;

    objective_ahead(run->objective, image, tile);
}

static void add(size_t n, const double *from, double *to)
{
    for (size_t i = 0; i < n; i++) to[i] += from[i];
}

static void add_sums(const struct jacobian_sizes *n, const struct normal_sums *from,
                     struct normal_sums *to)
{
    add(n->tangents * n->tangents, from->matrix, to->matrix);
    add(n->tangents, from->gradient, to->gradient);
    add(n->f, from->f_diagonal, to->f_diagonal);
    add(n->f, from->f_gradient, to->f_gradient);
    add(n->tangents * n->f, from->coupling, to->coupling);
    to->value += from->value;
}

static void mirror_matrix(size_t n, double *matrix)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++) matrix[k * n + i] = matrix[i * n + k];
}

struct jacobian_reader normal_reader(const struct normal_run *run)
{
    const struct jacobian_reader reader = {run->work->chunks, clear_sums, add_tile, run,
                                           ask_ahead};

    return reader;
}

int normal_sum_chunks(const struct normal_run *run)
{
    const struct normal_work *work = run->work;
    const struct jacobian_sizes *n = &work->jacobian.sizes;

    for (int k = 1; k < work->chunks; k++) add_sums(n, work->sums + k, work->sums);
    if (run->planes && !planes_eliminate(run->planes, run->coupling, work->sums)) return 0;
    mirror_matrix(n->tangents, work->sums->matrix);
    return 1;
}
