/*
 * normal_psf.c - see normal_psf.h. A point spread carries the slopes of one tile into
 * the next, so a column of the Jacobian is an image that is spread as a whole before it is
 * multiplied. Those of the dense parameters are kept, as far as the ROI goes; structure
 * factors come and go a few at a time.
 *
 * SPDX-License-Identifier: MIT
 */
#include "normal_psf.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"

/* columns that are found in one pass */
enum { COLUMNS = 4 };

struct spread {
    nb_simulator *sim;
    const nb_scene *scene;
    const struct phys_frame *frame;
    size_t pixels, roi, dense; /* of an image, of its ROI; parameters */
    double *bar, *weight, *weighted; /* (roi) */
    double *kept; /* ((dense + 1) x roi), the last of a structure factor */
    double *image; /* (COLUMNS x pixels) */
    double *dx; /* (COLUMNS x nparam) */
    double *sums; /* what is found, before it is added to what the caller has */
    nb_normal found;
};

static void drop(struct spread *w)
{
    free(w->bar);
    free(w->kept);
    free(w->image);
    free(w->dx);
    free(w->sums);
}

/* numbers of a normal matrix, as one block */
static size_t sums_of(const struct spread *w)
{
    return w->dense * w->dense + w->dense * w->sim->params.f.n + 2 * w->sim->params.n;
}

static nb_status make(struct spread *w)
{
    const struct window *window = &w->sim->window;
    const int *roi = window->roi;

    w->dense = nb_ndense(w->sim);
    w->pixels = (size_t)window->nslow * (size_t)window->nfast;
    w->roi = (size_t)(roi[1] - roi[0]) * (size_t)(roi[3] - roi[2]);
    w->bar = calloc(3 * w->roi, sizeof *w->bar);
    w->kept = calloc((w->dense + 1) * w->roi, sizeof *w->kept);
    w->image = calloc(COLUMNS * w->pixels, sizeof *w->image);
    w->dx = calloc(COLUMNS * w->sim->params.n, sizeof *w->dx);
    w->sums = calloc(sums_of(w), sizeof *w->sums);
    if (!w->bar || !w->kept || !w->image || !w->dx || !w->sums)
        return fail_memory(w->sim->ctx, "a normal matrix");
    w->found.matrix = w->sums;
    w->found.coupling = w->found.matrix + w->dense * w->dense;
    w->found.diagonal = w->found.coupling + w->dense * w->sim->params.f.n;
    w->found.gradient = w->found.diagonal + w->sim->params.n;
    w->weight = w->bar + w->roi;
    w->weighted = w->weight + w->roi;
    return NB_OK;
}

/* the pixels of the ROI out of an image */
static void crop(const struct spread *w, const double *image, double *out)
{
    const struct window *window = &w->sim->window;
    const int *roi = window->roi;
    const size_t width = (size_t)(roi[1] - roi[0]);

    for (int s = roi[2]; s < roi[3]; s++, out += width)
        memcpy(out, image + (size_t)s * (size_t)window->nfast + (size_t)roi[0],
               width * sizeof *out);
}

/* slope and curvature of the pixels of the image; 0 where none is rendered */
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

/* columns of the Jacobian of n parameters, the numbers of which are `which`, to w->image */
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

/* what a column adds to gradient and diagonal; leaves it, weighted, in w->weighted */
static void add_column(const struct spread *w, size_t which, const double *column)
{
    for (size_t i = 0; i < w->roi; i++) w->weighted[i] = w->weight[i] * column[i];
    w->found.gradient[which] = product(w->roi, w->bar, column);
    w->found.diagonal[which] = product(w->roi, w->weighted, column);
}

static void add_dense(const struct spread *w, size_t row)
{
    assert(w->found.matrix);
    for (size_t k = 0; k <= row; k++) {
        const double sum = product(w->roi, w->weighted, w->kept + k * w->roi);

        w->found.matrix[row * w->dense + k] = w->found.matrix[k * w->dense + row] = sum;
    }
}

static void add_coupling(const struct spread *w, size_t f)
{
    for (size_t k = 0; k < w->dense; k++)
        w->found.coupling[k * w->sim->params.f.n + f] =
            product(w->roi, w->weighted, w->kept + k * w->roi);
}

/* the columns of all dense parameters, or of all structure factors */
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
            double *column = w->kept + (of_f ? w->dense : done) * w->roi;

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
    assert(from);
    for (size_t i = 0; to && i < n; i++) to[i] += from[i];
}

static int runs_of(size_t columns)
{
    return (int)((columns + COLUMNS - 1) / COLUMNS);
}

static nb_status run(struct spread *w, const struct objective *objective, double *value,
                     const nb_normal *out)
{
    const size_t n = w->sim->params.n, nf = w->sim->params.f.n;
    const int of_f = out->coupling || out->diagonal || out->gradient;

    NB_TRY(make(w));
    progress_passes(&w->sim->progress, 1 + simulator_widens(w->sim) + runs_of(w->dense)
                                           + (of_f ? runs_of(nf) : 0));
    NB_TRY(simulator_photons(w->sim));
    NB_TRY(simulator_render(w->sim, w->scene, w->frame, w->sim->photons));
    *value = weigh(w, objective, w->sim->photons);
    if (!isfinite(*value)) return NB_OK; /* the caller's to say so */
    NB_TRY(simulator_unspread(w->sim, w->scene, w->frame));
    NB_TRY(add_columns(w, 0));
    if (of_f) NB_TRY(add_columns(w, 1));
    add(w->dense * w->dense, w->found.matrix, out->matrix);
    add(w->dense * nf, w->found.coupling, out->coupling);
    add(n, w->found.diagonal, out->diagonal);
    add(n, w->found.gradient, out->gradient);
    return NB_OK;
}

nb_status normal_psf(nb_simulator *sim, const nb_scene *scene,
                     const struct phys_frame *frame, const struct objective *objective,
                     double *value, const nb_normal *out)
{
    struct spread w = {.sim = sim, .scene = scene, .frame = frame};
    const nb_status status = run(&w, objective, value, out);

    drop(&w);
    return status;
}
