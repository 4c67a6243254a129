/*
 * continuous_vjp.c - the adjoint of continuous_draw(). Cotangents go from the samples of a
 * spot to its polynomials, from the polynomials to log I at the nodes, and from the nodes
 * to the frame. Spots are assigned to chunks in order, and each chunk sums the cotangents
 * of its spots in order, so that the sums have the same bits for any number of threads.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/floats.h"
#include "kernels/continuous/spots_at.h"
#include "kernels/spots/row_strips.h"

/* How many rows of samples are computed together; the least number of spots in a chunk. */
enum { ROWS_AT_ONCE = 256, SPOTS_OF_CHUNK = 64 };

/* The cotangents that a chunk sums, and its memory. */
struct chunk {
    const struct kernel_set *kernels;
    const struct job *job;
    const struct continuous_work *work;
    const double *weight; /* the cotangents of the Bragg sums */
    struct phys_frame_tangent *bar;
    struct crystal_bar *crystal; /* (ncrystal) */
    double *e, *w; /* (nsource) cotangents of the lines of a spectrum */
    struct spectrum_bar *tables; /* (groups) */
    struct spectrum_row row;
    double *grid; /* cotangents of the numbers of `row` */
    size_t room; /* allocated length of `grid` */
};

/* Computes dL/d(coefficients of a spot's profile) and, in c->grid, dL/d(numbers of its row
 * of the spectrum), as sums over the spot's samples. Returns 0 if there is no memory. */
static int moments_of(struct chunk *c, const struct listed_spot *spot,
                      struct spot_moments *out)
{
    const struct continuous_kernels *kernels =
        c->kernels->single ? c->kernels->continuous_single : c->kernels->continuous_precise;
    struct job panel = job_of_panel(c->job, spot->name.panel);
    const int over = panel.frame->oversample;
    struct sample_row rows[ROWS_AT_ONCE];
    struct profile profile;
    int first, end, n;

    panel.packed = 1;
    memset(out, 0, sizeof *out);
    if (!spot_profile(c->work, spot, &c->row, &profile)) return 0;
    if (profile.kind == PROFILE_TABLE) {
        const size_t need = SPECTRUM_NUMBERS * (size_t)c->row.n;

        if (need > c->room) {
            free(c->grid);
            c->room = 0;
            c->grid = malloc(2 * need * sizeof *c->grid);
            if (!c->grid) return 0;
            c->room = 2 * need;
        }
        memset(c->grid, 0, need * sizeof *c->grid);
    }
    list_rows_of(spot, panel.window->nslow * over, &first, &end);
    while ((n = list_samples(spot, &panel, &first, end, ROWS_AT_ONCE, rows)) > 0)
        kernels->moments(&profile, over, n, rows, c->weight, out,
                         profile.kind == PROFILE_TABLE ? c->grid : NULL);
    return 1;
}

/* Adds the cotangents of the factors that multiply a whole spot; `sum` is the sum of its
 * samples times their cotangents. */
static void scale_adjoint(struct chunk *c, const struct listed_spot *spot, double sum)
{
    const struct view *view = &c->work->view;
    const double light = view_light(view, &spot->name).weight,
                 share = spot_share(view, spot);
    const double rest = sum * spot->weight;
    const struct spot_light bar = {0, rest * spot->square * share};

    c->crystal[spot->name.crystal].share[spot->name.mosaic] += rest * spot->square * light;
    view_light_adjoint(view, &spot->name, &bar, c->bar->source);
    if (c->bar->f && c->job->spec.lookup != PHYS_CONSTANT)
        phys_give_f(c->bar, spot->place,
                    2 * rest * light * share * view->frame->f[spot->place]);
}

static void clear_lines(struct chunk *c, int group)
{
    for (int i = 0; i < c->work->view.group[group].n; i++) c->e[i] = c->w[i] = 0;
}

/* Adds the cotangents of a group's lines to the cotangents of its sources. */
static void give_lines(struct chunk *c, int group)
{
    const struct beam_group *g = c->work->view.group + group;

    for (int i = 0; i < g->n; i++) {
        c->bar->source[g->first + i].inverse_wavelength +=
            c->e[i] / c->work->view.frame->source[g->first + i].inverse_wavelength;
        c->bar->source[g->first + i].weight += c->w[i];
    }
}

/* Adds the cotangents of the lines of a spot's spectrum. If the spectrum has tables, they
 * are kept in c->tables until the end of the chunk. */
static void lines_adjoint(struct chunk *c, const struct listed_spot *spot)
{
    const int group = spot->name.group;
    const struct spectral_lines *lines = c->work->spectrum + group;

    if (spectrum_bar_add(lines, spot->variance, spot->scale, c->grid, c->tables + group))
        return;
    for (int i = 0; i < SPECTRUM_NUMBERS * c->row.n; i++) c->grid[i] *= spot->scale;
    clear_lines(c, group);
    spectrum_row_adjoint(lines, spot->variance, c->grid, c->e, c->w);
    give_lines(c, group);
}

/* Adds the cotangents of lines that are kept in c->tables. */
static void close_lines(struct chunk *c)
{
    for (int i = 0; i < c->work->view.ngroup; i++) {
        clear_lines(c, i);
        if (spectrum_bar_give(c->work->spectrum + i, c->tables + i, c->e, c->w))
            give_lines(c, i);
    }
}

/* Adds all cotangents of a spot; returns 0 if there is no memory. */
static int spot_adjoint(struct chunk *c, const struct listed_spot *spot)
{
    const struct phys_frame *frame = c->job->frame + spot->name.panel;
    const struct node_kernels *nodes = c->kernels->nodes;
    const int outputs = spot->name.along == ALONG_NOTHING ? 1 : NODE_OUTPUTS;
    struct nodes_change nodes_bar;
    struct spot_moments moments;
    struct spot_state state;
    double bar[NODE_OUTPUTS][NODES];
    int any = 0;

    if (!moments_of(c, spot, &moments)) return 0;
    for (int i = 0; i < SPOT_COEFFICIENTS; i++) any |= moments.c[i] != 0;
    scale_adjoint(c, spot, moments.sum);
    if (!any || spot->scale == 0) return 1;
    for (int i = 0; i < SPOT_COEFFICIENTS; i++) moments.c[i] *= spot->scale;
    if (spot->name.along == ALONG_PHI)
        c->bar->broad.half_range += spot->scale * moments.half;
    if (spot->name.along == ALONG_ENERGY) lines_adjoint(c, spot);
    pattern_fit_adjoint(&c->work->pattern, outputs, moments.c, bar);
    spot_nodes_of(c->work, c->job, spot, &state);
    nodes->slopes(&state.nodes, &state.values);
    memset(&nodes_bar, 0, sizeof nodes_bar);
    nodes->adjoint(&state.nodes, &state.values, bar, &nodes_bar);
    spot_factors_adjoint(frame, spot, &state.nodes, bar[NODE_L], c->bar);
    view_nodes_adjoint(&c->work->view, frame, &spot->name, &state.of, &state.nodes,
                       &nodes_bar, c->crystal + spot->name.crystal, c->bar);
    return 1;
}

static int start_chunk(struct chunk *c)
{
    const struct phys_frame *frame = c->work->view.frame;

    c->crystal = calloc((size_t)c->work->view.ncrystal, sizeof *c->crystal);
    c->e = malloc(2 * (size_t)frame->nsource * sizeof *c->e);
    c->w = c->e ? c->e + frame->nsource : NULL;
    c->tables = calloc((size_t)c->work->view.ngroup + 1, sizeof *c->tables);
    return c->crystal && c->e && c->tables;
}

static void end_chunk(struct chunk *c)
{
    spectrum_row_free(&c->row);
    free(c->grid);
    for (int i = 0; c->tables && i < c->work->view.ngroup; i++)
        spectrum_bar_free(c->tables + i);
    free(c->tables);
    free(c->crystal);
    free(c->e);
}

/* Adds the cotangents of the spots of chunk `number`, in order. */
static int chunk_adjoint(struct progress *progress, struct chunk *c,
                         const struct adjoint_work *adjoint, int number, int count)
{
    const struct spot_table *t = &c->work->table;
    const size_t chunks = (size_t)count, i = (size_t)number;
    const size_t first = t->n * i / chunks, end = t->n * (i + 1) / chunks;
    int good = start_chunk(c);

    for (size_t s = first; s < end && good; s++) {
        const struct listed_spot *spot = t->spot + s;

        if (s > first && spot->name.panel != spot[-1].name.panel)
            adjoint_leave(adjoint, number, spot[-1].name.panel);
        if (progress_stopped(progress)) break;
        good = spot_adjoint(c, spot);
    }
    if (end > first) adjoint_leave(adjoint, number, t->spot[end - 1].name.panel);
    if (good) close_lines(c);
    if (good) view_close(&c->work->view, c->crystal, c->bar);
    end_chunk(c);
    return good;
}

nb_status continuous_back(struct progress *progress, const struct kernel_set *kernels,
                          const struct job *job, const struct adjoint_work *adjoint,
                          const double *weight, struct continuous_work *work)
{
    const int threads = strips_threads(job, (double)work->table.n * 2000);
    const size_t most = work->table.n / SPOTS_OF_CHUNK + 1;
    const int chunks = most < (size_t)adjoint->chunks ? (int)most : adjoint->chunks;
    int good = 1;

#pragma omp parallel for schedule(dynamic) num_threads(threads) reduction(& : good)
    for (int i = 0; i < chunks; i++) {
        STANDARD_FLOATS;
        struct chunk c = {.kernels = kernels,
                          .job = job,
                          .work = work,
                          .weight = weight,
                          .bar = adjoint->bar + i};

        good &= chunk_adjoint(progress, &c, adjoint, i, chunks);
    }
    (void)threads;
    if (!good) return fail_memory(progress->ctx, "an adjoint");
    return progress_check(progress);
}
