/* boxes.c - finds errors by a jackknife over boxes. SPDX-License-Identifier: MIT */
#include "nanobrag_fit/boxes/boxes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "base/clock.h"
#include "base/context.h"
#include "nanobrag_fit/fit.h"

/* ---- the boxes of all shots ---- */

/* Returns where the number of a box stands or belongs in the table. */
static uint32_t *slot_of(const nb_fit *fit, const int box[4])
{
    const size_t mask = fit->boxes.slots - 1;
    uint64_t at = 0;

    for (int i = 0; i < 4; i++) at = (at ^ (unsigned)box[i]) * 0x9e3779b97f4a7c15U;
    for (at >>= 20;; at++) {
        uint32_t *const slot = fit->boxes.slot + (at & mask);

        if (*slot == 0
            || memcmp(fit->boxes.at + (size_t)4 * (*slot - 1), box, 4 * sizeof *box) == 0)
            return slot;
    }
}

/* Makes room for twice as many boxes, of which half of the table stays empty. */
static nb_status grow(nb_fit *fit)
{
    const size_t slots = fit->boxes.slots ? 2 * fit->boxes.slots : 256;
    int *const box = realloc(fit->boxes.at, slots / 2 * 4 * sizeof *box);
    uint32_t *slot;

    if (box) fit->boxes.at = box;
    slot = box ? calloc(slots, sizeof *slot) : NULL;
    if (!slot) return fail_memory(fit->ctx, "the boxes of a fit");
    free(fit->boxes.slot);
    fit->boxes.slot = slot;
    fit->boxes.slots = slots;
    for (size_t i = 0; i < fit->boxes.n; i++)
        *slot_of(fit, fit->boxes.at + 4 * i) = (uint32_t)i + 1;
    return NB_OK;
}

nb_status boxes_note(nb_fit *fit, const nb_scene *scene)
{
    for (size_t i = 0; i < scene->detector.nbox; i++) {
        const int *const box = scene->detector.box + 4 * i;
        uint32_t *slot;

        if (2 * (fit->boxes.n + 1) > fit->boxes.slots) NB_TRY(grow(fit));
        slot = slot_of(fit, box);
        if (*slot) continue;
        memcpy(fit->boxes.at + 4 * fit->boxes.n, box, 4 * sizeof *box);
        *slot = (uint32_t)++fit->boxes.n;
    }
    return NB_OK;
}

/* Returns the number of groups of boxes. A group is one box, unless they would take more
 * than 1 GiB. */
static size_t groups_of(const nb_fit *fit)
{
    const size_t n = fit->layout.n, most = ((size_t)1 << 27) / (n * n + 2 * n + 1) + 1;

    return fit->boxes.n < most ? fit->boxes.n : most;
}

const char *boxes_why_not(const nb_fit *fit)
{
    size_t fitted = 0;

    for (size_t i = 0; i < fit->layout.n; i++)
        fitted += fit->end == NB_FIT_NOT_RUN
                  || (!normal_is_held(fit, i) && covariance_bound(fit, i) == 0);
    if (fit->is_expected) return "nothing was observed";
    if (fit->needs_variance) return "the loss is no likelihood";
    if (!fit->layout.has_matrix) return "L-BFGS keeps no matrix";
    if (fit->layout.nf > 0) return "structure factors are fitted";
    if (fit->layout.n > FIT_DENSE_MOST) return "there are more than 200 values";
    return groups_of(fit) > fitted ? NULL : "there are not more boxes than values";
}

/* ---- the step that a box asks for ---- */

/* gradient and matrix of the loss in one group of boxes, summed over shots */
struct box_part {
    double *gradient, *matrix; /* (n), (n x n) */
};

static struct box_part part_of(const nb_fit *fit, double *memory, size_t box)
{
    const size_t n = fit->layout.n;
    double *at = memory + box * (n + n * n);

    return (struct box_part){at, at + n};
}

/* a shot whose boxes are added one by one; a pixel in several boxes belongs to the first */
struct part_shot {
    size_t number;
    nb_shot loaded;
    uint8_t *left; /* the mask, but 0 at pixels of boxes that were added before */
    int nfast;
};

static nb_status make_mask(nb_fit *fit, struct part_shot *s)
{
    const nb_scene *scene = s->loaded.scene;
    nb_simulator *sim = NULL;
    nb_description d;
    size_t pixels;
    nb_status status;

    NB_TRY(nb_simulator_create(fit->ctx, scene, fit->names, s->loaded.options, &sim));
    status = nb_simulator_describe(sim, NULL, &d);
    nb_simulator_free(sim);
    NB_TRY(status);
    pixels = (size_t)d.nslow * (size_t)d.nfast;
    s->nfast = d.nfast;
    s->left = malloc(pixels);
    if (!s->left) return fail_memory(fit->ctx, "the errors of a fit");
    if (scene->detector.mask)
        memcpy(s->left, scene->detector.mask, pixels);
    else
        memset(s->left, 1, pixels);
    return NB_OK;
}

/* Returns the number of pixels of box r (fast from and to, slow from and to) that are left.
 * Without `count` it also takes them, which sets them to 0. */
static size_t take_pixels(const struct part_shot *s, const int r[4], int count)
{
    size_t n = 0;

    for (int slow = r[2]; slow < r[3]; slow++)
        for (int fast = r[0]; fast < r[1]; fast++) {
            uint8_t *pixel = s->left + (size_t)slow * (size_t)s->nfast + fast;

            n += *pixel != 0;
            if (!count) *pixel = 0;
        }
    return n;
}

/* Adds gradient and matrix of one box of a shot, from the pixels that are left. */
static nb_status add_box(nb_fit *fit, const struct part_shot *shot, size_t box,
                         const struct box_part *to)
{
    const struct fit_layout *l = &fit->layout;
    const struct fit_worker *w = fit->worker;
    nb_normal out = {.gradient = w->gradient, .matrix = w->matrix};
    nb_scene scene = *shot->loaded.scene;
    nb_simulator *sim = NULL;
    nb_status status;
    double loss;

    for (size_t i = 0; i < l->m; i++) w->x[i] = fit->best.x[fit_index(l, shot->number, i)];
    memset(w->gradient, 0, l->m * sizeof *w->gradient);
    memset(w->matrix, 0, l->m * l->m * sizeof *w->matrix);
    scene.detector.mask = shot->left;
    scene.detector.box += 4 * box;
    scene.detector.nbox = 1;
    if (take_pixels(shot, scene.detector.box, 1) == 0) return NB_OK;
    NB_TRY(nb_simulator_create(fit->ctx, &scene, fit->names, shot->loaded.options, &sim));
    status = nb_loss(sim, w->x, &shot->loaded.target, &loss, &out);
    nb_simulator_free(sim);
    take_pixels(shot, scene.detector.box, 0);
    for (size_t i = 0; i < l->m; i++) {
        const size_t row = fit_index(l, shot->number, i);

        to->gradient[row] += w->gradient[i];
        for (size_t j = 0; j < l->m; j++)
            to->matrix[row * l->n + fit_index(l, shot->number, j)] +=
                w->matrix[i * l->m + j];
    }
    return status;
}

/* Returns NB_ERR_CANCELLED if the fit was cancelled or its limit of seconds has passed. */
static nb_status go_on(nb_fit *fit, double start)
{
    const double seconds = fit->seconds + clock_seconds(CLOCK_MONOTONIC) - start;

    if (atomic_exchange(&fit->cancelled, 0))
        return fail(fit->ctx, NB_ERR_CANCELLED, "their computation was cancelled");
    if (fit->options.seconds > 0 && seconds > fit->options.seconds)
        return fail(fit->ctx, NB_ERR_CANCELLED, "the limit of seconds is reached");
    return NB_OK;
}

static nb_status find_parts(nb_fit *fit, double *memory)
{
    const size_t ngroup = groups_of(fit);
    const double start = clock_seconds(CLOCK_MONOTONIC);
    nb_status status = NB_OK;

    for (size_t i = 0; i < fit->layout.nshot && status == NB_OK; i++) {
        struct part_shot shot = {.number = i};

        if (fit->left_out[i]) continue;
        NB_TRY(fit_load(fit, fit->ctx, i, &shot.loaded));
        status = make_mask(fit, &shot);
        for (size_t b = 0; b < shot.loaded.scene->detector.nbox && status == NB_OK; b++) {
            const uint32_t number = *slot_of(fit, shot.loaded.scene->detector.box + 4 * b);
            const struct box_part part =
                part_of(fit, memory, (number - (number > 0)) % ngroup);

            status = go_on(fit, start);
            if (status == NB_OK) status = add_box(fit, &shot, b, &part);
        }
        free(shot.left);
        fit_unload(fit, i, &shot.loaded);
    }
    fit->seconds += clock_seconds(CLOCK_MONOTONIC) - start;
    return status;
}

/* ---- the fit without a box ---- */

/* Solves A z = y by Gaussian elimination with row pivots. z replaces y, and is not finite
 * if A is singular; A is overwritten. */
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

/* Sets the step (H - H_b)^-1 g_b, which leads from the end of the fit to where a fit
 * without this box would end, given C = H^-1. The system is solved with each value in units
 * of its error. */
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

/* Returns the number of boxes that have pixels; only an empty box has a gradient of 0. */
static size_t boxes_with_pixels(const nb_fit *fit, double *memory)
{
    size_t n = 0;

    for (size_t b = 0; b < groups_of(fit); b++) {
        const struct box_part part = part_of(fit, memory, b);
        int is_empty = 1;

        for (size_t i = 0; i < fit->layout.n; i++) is_empty &= part.gradient[i] == 0;
        n += !is_empty;
    }
    return n;
}

/* Replaces H^-1 by the covariance C of boxes.h. */
static void combine(const nb_fit *fit, double *memory, double *step, double *covariance)
{
    const size_t n = fit->layout.n, nbox = groups_of(fit);
    const double groups = (double)boxes_with_pixels(fit, memory);
    const double factor = (groups - 1) / groups;
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

/* Sets errors and covariance. An error whose variance among boxes is 0 stays as it was,
 * multiplied by `factor`. */
static nb_status find(nb_fit *fit, double factor, struct fit_result_memory *r)
{
    const size_t n = fit->layout.n, nbox = groups_of(fit);
    const size_t parts = nbox * (n + n * n), steps = (nbox + n + n) * n;
    double *memory = calloc(parts + steps + 1, sizeof *memory);
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

/* Finds errors and covariance once for each best point, and keeps them in fit->sandwich. A
 * fit whose loss is no likelihood keeps its errors there too (keep_sandwich()). */
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
    kept = calloc(2 * n + n * n + 1, sizeof *kept);
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
    const char *why = boxes_why_not(fit);
    const nb_status status =
        why || fit->end == NB_FIT_NOT_RUN ? NB_OK : find_once(fit, out->error_factor, r);

    if (fit->end == NB_FIT_NOT_RUN || status == NB_ERR_MEMORY) return status;
    if (status != NB_OK) why = nb_context_message(fit->ctx);
    if (why) {
        (void)snprintf(r->errors_why, sizeof r->errors_why,
                       "errors from the curvature of the loss, not from boxes: %.150s",
                       why);
        out->errors_why = r->errors_why;
        return NB_OK;
    }
    out->error_factor = 1;
    out->errors = NB_FIT_ERRORS_BOXES;
    (void)snprintf(r->errors_why, sizeof r->errors_why,
                   "errors from the scatter among %zu boxes, as all pixels of a box may be "
                   "off together",
                   groups_of(fit));
    out->errors_why = r->errors_why;
    return NB_OK;
}
