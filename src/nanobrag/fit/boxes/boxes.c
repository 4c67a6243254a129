/* fit/boxes/boxes.c - see boxes.h. SPDX-License-Identifier: MIT */
#include "fit/boxes/boxes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "fit/fit.h"

void boxes_note(nb_fit *fit, const nb_scene *scene)
{
    const size_t n = scene->detector.nbox;

    fit->nbox = fit->named > 1 && fit->nbox != n ? 0 : n;
}

int boxes_can(const nb_fit *fit, const nb_fit_result *out)
{
    size_t fitted = 0;

    for (size_t i = 0; i < fit->layout.n; i++)
        fitted += !normal_is_held(fit, i) && covariance_bound(fit, i) == 0;
    return fit->options.scaling == NB_FIT_SCALING_BOXES && out->covariance != NULL
           && fit->nbox > fitted && fit->layout.nf == 0;
}

/* ---- what a box asks for ---- */

/* The gradient of a box, summed over shots, and its matrix. */
struct box_part {
    double *gradient, *matrix; /*                                       (n), (n x n) */
};

static struct box_part part_of(const nb_fit *fit, double *memory, size_t box)
{
    const size_t n = fit->layout.n;
    double *at = memory + box * (n + n * n);

    return (struct box_part){at, at + n};
}

/* Adds one box of a shot. */
static nb_status add_box(nb_fit *fit, const nb_shot *shot, size_t number, size_t box,
                         const struct box_part *to)
{
    const struct fit_layout *l = &fit->layout;
    const struct fit_worker *w = fit->worker;
    nb_normal out = {.gradient = w->gradient, .matrix = w->matrix};
    nb_scene scene = *shot->scene;
    nb_simulator *sim = NULL;
    nb_status status;
    double loss;

    for (size_t i = 0; i < l->m; i++) w->x[i] = fit->best.x[fit_index(l, number, i)];
    memset(w->gradient, 0, l->m * sizeof *w->gradient);
    memset(w->matrix, 0, l->m * l->m * sizeof *w->matrix);
    scene.detector.box += 4 * box;
    scene.detector.nbox = 1;
    NB_TRY(nb_simulator_create(fit->ctx, &scene, fit->names, shot->options, &sim));
    status = nb_loss(sim, w->x, &shot->target, &loss, &out);
    nb_simulator_free(sim);
    for (size_t i = 0; i < l->m; i++) {
        const size_t row = fit_index(l, number, i);

        to->gradient[row] += w->gradient[i];
        for (size_t j = 0; j < l->m; j++)
            to->matrix[row * l->n + fit_index(l, number, j)] += w->matrix[i * l->m + j];
    }
    return status;
}

static nb_status find_parts(nb_fit *fit, double *memory)
{
    for (size_t i = 0; i < fit->layout.nshot; i++) {
        nb_status status = NB_OK;
        nb_shot loaded;

        if (fit->left_out[i]) continue;
        NB_TRY(fit_load(fit, fit->ctx, i, &loaded));
        for (size_t b = 0; b < fit->nbox && status == NB_OK; b++) {
            const struct box_part part = part_of(fit, memory, b);

            status = add_box(fit, &loaded, i, b, &part);
        }
        fit_unload(fit, i, &loaded);
        NB_TRY(status);
    }
    return NB_OK;
}

/* ---- the fit without a box ---- */

/* Solves A y = y by elimination with pivots of rows; y is NAN where A is singular. */
static void eliminate(size_t n, double *a, double *y)
{
    for (size_t k = 0; k < n; k++) {
        size_t best = k;

        for (size_t i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[best * n + k])) best = i;
        for (size_t j = 0; j < n && best != k; j++) {
            const double was = a[k * n + j];

            a[k * n + j] = a[best * n + j];
            a[best * n + j] = was;
        }
        if (best != k) {
            const double was = y[k];

            y[k] = y[best];
            y[best] = was;
        }
        for (size_t i = k + 1; i < n; i++) {
            const double f = a[i * n + k] / a[k * n + k];

            for (size_t j = k; j < n; j++) a[i * n + j] -= f * a[k * n + j];
            y[i] -= f * y[k];
        }
    }
    for (size_t k = n; k-- > 0;) {
        for (size_t j = k + 1; j < n; j++) y[k] -= a[k * n + j] * y[j];
        y[k] /= a[k * n + k];
    }
}

/* Sets the step to where the fit would be without a box: (H - H_b)^-1 g_b, given C = H^-1,
 * each value in units of its error. */
static void step_without(size_t n, const double *c, const struct box_part *part, double *a,
                         double *step)
{
    for (size_t i = 0; i < n; i++) {
        const double unit = c[i * (n + 1)] > 0 ? sqrt(c[i * (n + 1)]) : 1;

        step[i] = 0;
        for (size_t k = 0; k < n; k++) step[i] += c[i * n + k] * part->gradient[k] / unit;
        for (size_t j = 0; j < n; j++) {
            const double other = c[j * (n + 1)] > 0 ? sqrt(c[j * (n + 1)]) : 1;
            double sum = 0;

            for (size_t k = 0; k < n; k++) sum += c[i * n + k] * part->matrix[k * n + j];
            a[i * n + j] = (i == j) - sum * other / unit;
        }
    }
    eliminate(n, a, step);
    for (size_t i = 0; i < n; i++) step[i] *= c[i * (n + 1)] > 0 ? sqrt(c[i * (n + 1)]) : 0;
}

/* The covariance of the jackknife in place of H^-1, and what restraints add. */
static void combine(const nb_fit *fit, double *memory, double *step, double *covariance)
{
    const size_t n = fit->layout.n, nbox = fit->nbox;
    const double factor = (double)(nbox - 1) / (double)nbox;
    double *a = step + (nbox + n) * n;

    for (size_t b = 0; b < nbox; b++) {
        const struct box_part part = part_of(fit, memory, b);

        step_without(n, covariance, &part, a, step + b * n);
    }
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n; i++)
            step[(nbox + k) * n + i] =
                covariance[i * n + k] * sqrt(fit->weight[k] / factor);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;

            for (size_t b = 0; b < nbox + n; b++) sum += step[b * n + i] * step[b * n + j];
            covariance[i * n + j] = factor * sum;
        }
}

/* Sets errors and covariance, given what is known of counting. */
static nb_status find(nb_fit *fit, double factor, struct fit_result_memory *r)
{
    const size_t n = fit->layout.n, nbox = fit->nbox;
    const size_t parts = nbox * (n + n * n), steps = (nbox + n + n) * n;
    double *memory = calloc(parts + steps, sizeof *memory);
    nb_status status;

    if (!memory) return fail_memory(fit->ctx, "the errors of a fit");
    status = find_parts(fit, memory);
    if (status == NB_OK) combine(fit, memory, memory + parts, r->covariance);
    free(memory);
    NB_TRY(status);
    for (size_t i = 0; i < n; i++) {
        const double variance = r->covariance[i * (n + 1)];

        if (isfinite(r->error[i]))
            r->error[i] = isnan(variance) ? INFINITY
                          : variance > 0  ? sqrt(variance)
                                          : factor * r->error[i];
    }
    return NB_OK;
}

/* They are found once for each result, and kept where those of other losses are. */
static nb_status find_once(nb_fit *fit, double factor, struct fit_result_memory *r)
{
    const size_t n = fit->layout.n;
    double *kept = fit->sandwich;

    if (kept && !memcmp(kept, fit->best.x, n * sizeof *kept)) {
        memcpy(r->error, kept + n, n * sizeof *kept);
        memcpy(r->covariance, kept + 2 * n, n * n * sizeof *kept);
        return NB_OK;
    }
    NB_TRY(find(fit, factor, r));
    kept = calloc(2 * n + n * n, sizeof *kept);
    if (!kept) return fail_memory(fit->ctx, "the errors of a fit");
    memcpy(kept, fit->best.x, n * sizeof *kept);
    memcpy(kept + n, r->error, n * sizeof *kept);
    memcpy(kept + 2 * n, r->covariance, n * n * sizeof *kept);
    free(fit->sandwich);
    fit->sandwich = kept;
    return NB_OK;
}

nb_status boxes_errors(nb_fit *fit, struct fit_result_memory *r, nb_fit_result *out)
{
    NB_TRY(find_once(fit, out->error_factor, r));
    out->error_factor = 1;
    out->errors = NB_FIT_ERRORS_BOXES;
    (void)
        snprintf(r->errors_why, sizeof r->errors_why,
                 "errors by the scatter among %zu boxes, each of which may err as a whole",
                 fit->nbox);
    out->errors_why = r->errors_why;
    return NB_OK;
}
