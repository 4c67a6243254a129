/*
 * normal_psf.c - the normal matrix of an image with a point spread. A point spread carries
 * the derivatives of one tile into the next, so each column of the Jacobian is a whole
 * image that is spread before it is multiplied. The columns of the dense parameters are
 * saved for the ROI, in memory that is freed at the end of the call. The columns of
 * structure factors are computed a few at a time and dropped.
 *
 * SPDX-License-Identifier: MIT
 */
#include "normal_psf.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "simulator.h"

/* Number of columns that one pass over the samples computes. */
enum { COLUMNS = 4 };

struct spread {
    nb_simulator *sim;
    const nb_scene *scene;
    const struct phys_frame *frame;
    /* pixels of an image, pixels of its ROI, number of dense parameters */
    size_t pixels, roi, dense;
    struct arena memory; /* holds the arrays below; freed at the end of the call */
    /* (roi) dL/dp, curvature of L, curvature times a column */
    double *bar, *weight, *weighted;
    /* ((dense + 1) x roi) columns of the dense parameters, then one of a structure
     * factor */
    double *saved;
    double *image; /* (COLUMNS x pixels) columns before they are cropped */
    double *dx; /* (COLUMNS x nparam) the direction of each column */
    const struct planes *planes; /* planes of background, to be eliminated; NULL: none */
    /* sums of this call, which are added to the caller's arrays at its end */
    nb_normal found;
};

/* Allocate the arrays of a struct spread, all 0. */
static nb_status make(struct spread *w)
{
    const size_t nparam = w->sim->params.n, nf = w->sim->params.f.n;
    const struct arena_part parts[] = {
        {&w->bar, w->roi, sizeof(double), NULL},
        {&w->weight, w->roi, sizeof(double), NULL},
        {&w->weighted, w->roi, sizeof(double), NULL},
        {&w->saved, (w->dense + 1) * w->roi, sizeof(double), NULL},
        {&w->image, COLUMNS * w->pixels, sizeof(double), NULL},
        {&w->dx, COLUMNS * nparam, sizeof(double), NULL},
        {&w->found.matrix, w->dense * w->dense, sizeof(double), NULL},
        {&w->found.coupling, w->dense * nf, sizeof(double), NULL},
        {&w->found.diagonal, nparam, sizeof(double), NULL},
        {&w->found.gradient, nparam, sizeof(double), NULL},
    };
    const size_t count = sizeof parts / sizeof *parts;

    if (!arena_build_parts(&w->memory, parts, count))
        return fail_memory(w->sim->ctx, "a normal matrix");
    return NB_OK;
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

/* Write dL/dp to w->bar and the curvature of L to w->weight for each rendered pixel p of
 * the ROI; other pixels keep 0. Returns L. */
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
                value += objective->row(objective->user, at, 1, photons + at, w->bar + i,
                                        w->weight + i);
        }
    return value;
}

static double product(size_t n, const double *a, const double *b)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* Compute n columns of the Jacobian, for the parameters with the numbers `which`, in
 * w->image. */
static nb_status find_columns(const struct spread *w, int n, const size_t *which)
{
    const struct window *window = &w->sim->window;
    nb_array change[COLUMNS];

    memset(w->dx, 0, COLUMNS * w->sim->params.n * sizeof *w->dx);
    for (int i = 0; i < n; i++) {
        w->dx[(size_t)i * w->sim->params.n + which[i]] = 1;
        change[i] =
            nb_array_f64(w->image + (size_t)i * w->pixels, window->nslow, window->nfast);
    }
    return simulator_changes(w->sim, w->scene, w->frame, n, w->dx, change);
}

/* Compute the elements of gradient and diagonal that belong to a column. The column times
 * the curvatures stays in w->weighted. */
static void add_column(const struct spread *w, size_t which, const double *column)
{
    for (size_t i = 0; i < w->roi; i++) w->weighted[i] = w->weight[i] * column[i];
    if (w->planes) planes_project(w->planes, w->sim->window.roi, w->weighted);
    w->found.gradient[which] = product(w->roi, w->bar, column);
    w->found.diagonal[which] = product(w->roi, w->weighted, column);
}

static void add_dense(const struct spread *w, size_t row)
{
    assert(w->found.matrix);
    for (size_t k = 0; k <= row; k++) {
        const double sum = product(w->roi, w->weighted, w->saved + k * w->roi);

        w->found.matrix[row * w->dense + k] = w->found.matrix[k * w->dense + row] = sum;
    }
}

static void add_coupling(const struct spread *w, size_t f)
{
    for (size_t k = 0; k < w->dense; k++)
        w->found.coupling[k * w->sim->params.f.n + f] =
            product(w->roi, w->weighted, w->saved + k * w->roi);
}

/* Compute the columns and their elements: of all dense parameters, or of all structure
 * factors if of_f is 1. */
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
            double *column = w->saved + (of_f ? w->dense : done) * w->roi;

            crop(w, w->image + (size_t)i * w->pixels, column);
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

/* Compute the value of the objective and, if it is finite, the sums of this call. Sums for
 * structure factors are computed only if of_f is 1. */
static nb_status find_sums(struct spread *w, const struct objective_terms *terms, int of_f,
                           double *value)
{
    nb_simulator *sim = w->sim;
    struct host_objective of;

    NB_TRY(simulator_photons(sim));
    NB_TRY(simulator_render(sim, w->scene, w->frame, sim->photons));
    objective_start(sim, terms, &of);
    w->planes = of.planes;
    if (of.planes) objective_settle(&of, sim->photons, 0);
    *value = weigh(w, &of.objective, sim->photons);
    if (of.planes) NB_TRY(objective_settled(sim, &of, value));
    if (!isfinite(*value)) return NB_OK; /* the caller reports it */
    NB_TRY(simulator_unspread(sim, w->scene, w->frame));
    NB_TRY(add_columns(w, 0));
    return of_f ? add_columns(w, 1) : NB_OK;
}

nb_status normal_psf(nb_simulator *sim, const nb_scene *scene,
                     const struct phys_frame *frame, const struct objective_terms *terms,
                     double *value, const nb_normal *out)
{
    const struct window *window = &sim->window;
    const int *roi = window->roi;
    const size_t n = sim->params.n, nf = sim->params.f.n;
    const int of_f = out->coupling || out->diagonal || out->gradient;
    struct spread w = {.sim = sim, .scene = scene, .frame = frame};
    nb_status status;

    w.dense = params_dense(&sim->params);
    w.pixels = (size_t)window->nslow * (size_t)window->nfast;
    w.roi = (size_t)(roi[1] - roi[0]) * (size_t)(roi[3] - roi[2]);
    NB_TRY(make(&w));
    progress_passes(&sim->progress, 1 + simulator_widens(sim) + runs_of(w.dense)
                                        + (of_f ? runs_of(nf) : 0));
    status = find_sums(&w, terms, of_f, value);
    if (status == NB_OK && isfinite(*value)) {
        add(w.dense * w.dense, w.found.matrix, out->matrix);
        add(w.dense * nf, w.found.coupling, out->coupling);
        add(n, w.found.diagonal, out->diagonal);
        add(n, w.found.gradient, out->gradient);
    }
    arena_free(&w.memory);
    return status;
}
