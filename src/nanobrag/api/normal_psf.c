/*
 * normal_psf.c - see normal_psf.h. A point spread carries the derivatives of one tile into
 * the next, so each column of the Jacobian is a whole image that is spread before it is
 * multiplied. The columns of the dense parameters are saved for the ROI; those of structure
 * factors are computed a few at a time and dropped.
 *
 * SPDX-License-Identifier: MIT
 */
#include "normal_psf.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "simulator.h"

/* Columns that one pass over the samples computes. */
enum { COLUMNS = 4 };

/* The workspace of a normal matrix, made with the first one. */
struct normal_psf_work {
    double *bar, *weight, *weighted; /* (roi) */
    double *saved; /* ((dense + 1) x roi), the last for a structure factor */
    double *image; /* (COLUMNS x pixels) */
    double *dx; /* (COLUMNS x nparam) */
    nb_normal found; /* this call's sums, before they are added to the caller's */
};

struct spread {
    nb_simulator *sim;
    const nb_scene *scene;
    const struct phys_frame *frame;
    size_t pixels, roi, dense; /* pixels of an image, pixels of its ROI, dense parameters */
    struct normal_psf_work *at;
};

static nb_status make(nb_simulator *sim, const struct spread *w)
{
    struct normal_psf_work work;
    const size_t nparam = sim->params.n, nf = sim->params.f.n;
    const struct arena_part parts[] = {
        {&sim->spread, 1, sizeof work, NULL},
        {&work.bar, w->roi, sizeof(double), NULL},
        {&work.weight, w->roi, sizeof(double), NULL},
        {&work.weighted, w->roi, sizeof(double), NULL},
        {&work.saved, (w->dense + 1) * w->roi, sizeof(double), NULL},
        {&work.image, COLUMNS * w->pixels, sizeof(double), NULL},
        {&work.dx, COLUMNS * nparam, sizeof(double), NULL},
        {&work.found.matrix, w->dense * w->dense, sizeof(double), NULL},
        {&work.found.coupling, w->dense * nf, sizeof(double), NULL},
        {&work.found.diagonal, nparam, sizeof(double), NULL},
        {&work.found.gradient, nparam, sizeof(double), NULL},
    };
    const size_t count = sizeof parts / sizeof *parts;

    if (sim->spread) return NB_OK;
    if (!arena_build_parts(&sim->spread_memory, parts, count))
        return fail_memory(sim->ctx, "a normal matrix");
    *sim->spread = work;
    return NB_OK;
}

/* Clear the sums, and the weights of pixels that are not rendered. */
static void clear(const struct spread *w)
{
    struct normal_psf_work *at = w->at;
    const size_t n = w->dense, nf = w->sim->params.f.n;

    if (w->roi > 0) memset(at->bar, 0, w->roi * sizeof *at->bar);
    if (w->roi > 0) memset(at->weight, 0, w->roi * sizeof *at->weight);
    if (n > 0) memset(at->found.matrix, 0, n * n * sizeof *at->found.matrix);
    if (n * nf > 0) memset(at->found.coupling, 0, n * nf * sizeof *at->found.coupling);
}

/* Copy the pixels of the ROI out of an image. */
static void crop(const struct spread *w, const double *image, double *out)
{
    const struct window *window = &w->sim->window;
    const int *roi = window->roi;
    const size_t width = (size_t)(roi[1] - roi[0]);

    for (int s = roi[2]; s < roi[3]; s++, out += width)
        memcpy(out, image + (size_t)s * (size_t)window->nfast + (size_t)roi[0],
               width * sizeof *out);
}

/* Write dL/dp and the curvature of L for each pixel p of the ROI, 0 where none is rendered,
 * and return L. */
static double weigh(const struct spread *w, const struct objective *objective,
                    const double *photons)
{
    const struct window *window = &w->sim->window;
    const int *roi = window->roi;
    double value = 0;
    size_t i = 0;

    for (int s = roi[2]; s < roi[3]; s++)
        for (int f = roi[0]; f < roi[1]; f++, i++) {
            const size_t at = (size_t)s * (size_t)window->nfast + (size_t)f;

            if (window_shows(window, s, f))
                value += objective->row(objective->user, at, 1, photons + at,
                                        w->at->bar + i, w->at->weight + i);
        }
    return value;
}

static double product(size_t n, const double *a, const double *b)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* Compute the columns of the Jacobian for the n parameters with the numbers `which`. */
static nb_status find_columns(const struct spread *w, int n, const size_t *which)
{
    const struct window *window = &w->sim->window;
    nb_array change[COLUMNS];

    memset(w->at->dx, 0, COLUMNS * w->sim->params.n * sizeof *w->at->dx);
    for (int i = 0; i < n; i++) {
        w->at->dx[(size_t)i * w->sim->params.n + which[i]] = 1;
        change[i] = nb_array_f64(w->at->image + (size_t)i * w->pixels, window->nslow,
                                 window->nfast);
    }
    return simulator_changes(w->sim, w->scene, w->frame, n, w->at->dx, change);
}

/* Add the terms of a column to gradient and diagonal; the weighted column stays in
 * w->at->weighted. */
static void add_column(const struct spread *w, size_t which, const double *column)
{
    for (size_t i = 0; i < w->roi; i++) w->at->weighted[i] = w->at->weight[i] * column[i];
    w->at->found.gradient[which] = product(w->roi, w->at->bar, column);
    w->at->found.diagonal[which] = product(w->roi, w->at->weighted, column);
}

static void add_dense(const struct spread *w, size_t row)
{
    assert(w->at->found.matrix);
    for (size_t k = 0; k <= row; k++) {
        const double sum = product(w->roi, w->at->weighted, w->at->saved + k * w->roi);

        w->at->found.matrix[row * w->dense + k] = w->at->found.matrix[k * w->dense + row] =
            sum;
    }
}

static void add_coupling(const struct spread *w, size_t f)
{
    for (size_t k = 0; k < w->dense; k++)
        w->at->found.coupling[k * w->sim->params.f.n + f] =
            product(w->roi, w->at->weighted, w->at->saved + k * w->roi);
}

/* Add the columns of all dense parameters, or with `of_f` of all structure factors. */
static nb_status add_columns(const struct spread *w, int of_f)
{
    const struct params *params = &w->sim->params;
    size_t which[COLUMNS], done = 0, at = 0;

    while (at < params->n) {
        int n = 0;

        for (; at < params->n && n < COLUMNS; at++)
            if (params_is_f(params, at) == of_f) which[n++] = at;
        if (n == 0) break;
        NB_TRY(find_columns(w, n, which));
        for (int i = 0; i < n; i++, done++) {
            double *column = w->at->saved + (of_f ? w->dense : done) * w->roi;

            crop(w, w->at->image + (size_t)i * w->pixels, column);
            add_column(w, which[i], column);
            if (of_f)
                add_coupling(w, done);
            else
                add_dense(w, done);
        }
    }
    return NB_OK;
}

static void add(size_t n, const double *from, double *to)
{
    assert(from || n == 0);
    for (size_t i = 0; to && i < n; i++) to[i] += from[i];
}

static int runs_of(size_t columns)
{
    return (int)((columns + COLUMNS - 1) / COLUMNS);
}

nb_status normal_psf(nb_simulator *sim, const nb_scene *scene,
                     const struct phys_frame *frame, const struct objective_terms *terms,
                     double *value, const nb_normal *out)
{
    const struct window *window = &sim->window;
    const int *roi = window->roi;
    const size_t n = sim->params.n, nf = sim->params.f.n;
    const int of_f = out->coupling || out->diagonal || out->gradient;
    struct host_objective of;
    struct spread w = {.sim = sim, .scene = scene, .frame = frame};

    w.dense = nb_ndense(sim);
    w.pixels = (size_t)window->nslow * (size_t)window->nfast;
    w.roi = (size_t)(roi[1] - roi[0]) * (size_t)(roi[3] - roi[2]);
    NB_TRY(make(sim, &w));
    w.at = sim->spread;
    clear(&w);
    progress_passes(&sim->progress, 1 + simulator_widens(sim) + runs_of(w.dense)
                                        + (of_f ? runs_of(nf) : 0));
    NB_TRY(simulator_photons(sim));
    NB_TRY(simulator_render(sim, scene, frame, sim->photons));
    objective_start(sim, terms, &of);
    *value = weigh(&w, &of.objective, sim->photons);
    if (!isfinite(*value)) return NB_OK; /* reported by the caller */
    NB_TRY(simulator_unspread(sim, scene, frame));
    NB_TRY(add_columns(&w, 0));
    if (of_f) NB_TRY(add_columns(&w, 1));
    add(w.dense * w.dense, w.at->found.matrix, out->matrix);
    add(w.dense * nf, w.at->found.coupling, out->coupling);
    add(n, w.at->found.diagonal, out->diagonal);
    add(n, w.at->found.gradient, out->gradient);
    return NB_OK;
}
