/*
 * plane_errors.c - makes the matrices B and M (errors.c) of a shot whose target has planes
 * of background. P has the columns of the planes; D and V are diagonal, with <L''> and
 * <L'^2> of each pixel. If parameters change and the planes follow, the image changes by
 * the columns K:
 *
 *   K = J - P (P^T D P)^-1 P^T D J,   B = K^T D K,   M = K^T V K.
 *
 * nb_jvp() makes the columns of J one by one. Only their pixels in boxes are kept, box
 * after box. The planes of losses that are no likelihood have no bounds.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_fit/planes/plane_errors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "base/array.h"
#include "base/context.h"
#include "base/window.h"

enum { TERMS = 3 };

/* Least photons of a pixel. A plane fitted by squares may be negative, where counting has
 * no variance. */
static const double least_photons = 1e-6;

struct plane_work {
    nb_context *ctx;
    nb_simulator *sim;
    const double *x;
    const nb_target *target;
    nb_scene scene; /* resolved */
    nb_description d;
    struct window window;
    double *image, *second, *square; /* photons, later a column; D; V          (pixels) */
    int *owner; /* box of each pixel; -1: none                                 (pixels) */
    size_t *pixel; /* pixels of box b at first[b] to first[b + 1] - 1      (packed) */
    size_t *first; /*                                                        (nbox + 1) */
    size_t n; /* parameters */
    double *column; /*                                                   (n x packed) */
    double *term; /* 1, u and v of the present box, orthogonal         (3 x packed) */
};

static size_t pixels_of(const struct plane_work *w)
{
    return (size_t)w->d.nslow * (size_t)w->d.nfast;
}

static nb_array image_of(const struct plane_work *w, double *pixels)
{
    return nb_array_f64(pixels, w->d.nslow, w->d.nfast);
}

/* Makes the first box that contains a rendered pixel its owner. */
static void draw_boxes(struct plane_work *w)
{
    const nb_detector *d = &w->scene.detector;
    const size_t nfast = (size_t)w->d.nfast;
    size_t n = 0;

    for (size_t i = 0; i < pixels_of(w); i++) w->owner[i] = -1;
    for (size_t b = 0; b < d->nbox; b++) {
        const int *box = d->box + 4 * b;

        w->first[b] = n;
        for (int s = box[2]; s < box[3]; s++)
            for (int f = box[0]; f < box[1]; f++) {
                const size_t at = (size_t)s * nfast + (size_t)f;

                if (w->owner[at] >= 0 || !window_shows(&w->window, s, f)) continue;
                w->owner[at] = (int)b;
                w->pixel[n++] = at;
            }
    }
    w->first[d->nbox] = n;
}

/* Adds the planes of background to the photons; without an observed image there are
 * none. */
static nb_status add_planes(struct plane_work *w)
{
    const nb_detector *d = &w->scene.detector;
    double *plane;
    nb_status status;

    if (!w->target->observed) return NB_OK;
    plane = calloc(TERMS * d->nbox, sizeof *plane);
    if (!plane) return fail_memory(w->ctx, "the planes of a shot");
    status = nb_planes(w->sim, w->x, w->target, plane);
    for (size_t b = 0; status == NB_OK && b < d->nbox; b++) {
        const int *box = d->box + 4 * b;
        const double *t = plane + TERMS * b;

        for (size_t i = w->first[b]; i < w->first[b + 1]; i++) {
            const int s = (int)(w->pixel[i] / (size_t)w->d.nfast);
            const int f = (int)(w->pixel[i] % (size_t)w->d.nfast);

            w->image[w->pixel[i]] += t[0] + t[1] * (f - (box[0] + box[1] - 1) / 2.)
                                     + t[2] * (s - (box[2] + box[3] - 1) / 2.);
        }
    }
    free(plane);
    return status;
}

/* Finds D and V of each pixel. */
static nb_status weigh(struct plane_work *w)
{
    nb_array image = image_of(w, w->image), second = image_of(w, w->second);
    nb_array square = image_of(w, w->square);

    NB_TRY(nb_forward(w->sim, w->x, &image));
    NB_TRY(add_planes(w));
    for (size_t i = 0; i < pixels_of(w); i++)
        w->second[i] = w->square[i] = fmax(w->image[i], least_photons);
    errors_weigh(w->target, FIT_BREAD, &second);
    errors_weigh(w->target, FIT_MEAT, &square);
    return NB_OK;
}

/* Takes the columns of the Jacobian J, at the pixels of boxes. */
static nb_status take_columns(struct plane_work *w)
{
    const size_t packed = w->first[w->scene.detector.nbox];
    nb_array image = image_of(w, w->image);
    double *dx = calloc(w->n, sizeof *dx);
    nb_status status = NB_OK;

    if (!dx) return fail_memory(w->ctx, "the errors of a fit");
    for (size_t p = 0; status == NB_OK && p < w->n; p++) {
        dx[p] = 1;
        status = nb_jvp(w->sim, w->x, 1, dx, &image);
        dx[p] = 0;
        for (size_t i = 0; i < packed; i++)
            w->column[p * packed + i] = w->image[w->pixel[i]];
    }
    free(dx);
    return status;
}

/* Returns the sum of D a b over n pixels. */
static double product(const struct plane_work *w, const size_t *pixel, size_t n,
                      const double *a, const double *b)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) sum += w->second[pixel[i]] * a[i] * b[i];
    return sum;
}

static void subtract(size_t n, double times, const double *from, double *to)
{
    for (size_t i = 0; i < n; i++) to[i] -= times * from[i];
}

/* Sets w->term to 1, u and v of box b: a constant, and the fast and slow distance from the
 * middle of the box, pixels. Weighed by D, the terms are made orthogonal and of length 1. A
 * term that is a sum of earlier terms becomes 0. */
static void make_terms(const struct plane_work *w, size_t b)
{
    const int *box = w->scene.detector.box + 4 * b;
    const size_t *pixel = w->pixel + w->first[b];
    const size_t n = w->first[b + 1] - w->first[b];

    for (size_t i = 0; i < n; i++) {
        const size_t f = pixel[i] % (size_t)w->d.nfast, s = pixel[i] / (size_t)w->d.nfast;

        w->term[i] = 1;
        w->term[n + i] = (double)f - (box[0] + box[1] - 1) / 2.;
        w->term[2 * n + i] = (double)s - (box[2] + box[3] - 1) / 2.;
    }
    for (size_t k = 0; k < TERMS; k++) {
        double *term = w->term + k * n, left;
        const double before = product(w, pixel, n, term, term);

        for (size_t j = 0; j < k; j++) {
            const double *other = w->term + j * n;

            subtract(n, product(w, pixel, n, other, term), other, term);
        }
        left = product(w, pixel, n, term, term);
        for (size_t i = 0; i < n; i++)
            term[i] = left > 1e-12 * before ? term[i] / sqrt(left) : 0;
    }
}

/* Subtracts from a column its projection onto the planes of box b, whose terms make_terms()
 * has set. */
static void eliminate(const struct plane_work *w, size_t b, double *column)
{
    const size_t *pixel = w->pixel + w->first[b];
    const size_t n = w->first[b + 1] - w->first[b];

    for (size_t k = 0; k < TERMS; k++) {
        const double *term = w->term + k * n;

        subtract(n, product(w, pixel, n, term, column), term, column);
    }
}

/* If at most this fraction of a column's square remains, the column is a sum of planes, and
 * the rest is rounding. */
static const double least_left = 1e-12;

/* Turns the columns of J into the columns K. */
static void eliminate_all(const struct plane_work *w)
{
    const size_t nbox = w->scene.detector.nbox, packed = w->first[nbox];
    double *before = w->term + TERMS * packed;

    for (size_t p = 0; p < w->n; p++) {
        const double *column = w->column + p * packed;

        before[p] = product(w, w->pixel, packed, column, column);
    }
    for (size_t b = 0; b < nbox; b++) {
        make_terms(w, b);
        for (size_t p = 0; p < w->n; p++)
            eliminate(w, b, w->column + p * packed + w->first[b]);
    }
    for (size_t p = 0; p < w->n; p++) {
        double *column = w->column + p * packed;

        if (!(product(w, w->pixel, packed, column, column) > least_left * before[p]))
            memset(column, 0, packed * sizeof *column);
    }
}

/* Adds K^T V K or K^T D K to `out`. `weight` is the diagonal: V, the expected square of
 * each pixel's slope L', or D, the expected curvature L''. */
static void add_products(const struct plane_work *w, const double *weight, nb_normal *out)
{
    const size_t packed = w->first[w->scene.detector.nbox];

    for (size_t p = 0; p < w->n; p++)
        for (size_t q = 0; q <= p; q++) {
            const double *a = w->column + p * packed, *b = w->column + q * packed;
            double sum = 0;

            if (q < p && !out->matrix) continue;
            for (size_t i = 0; i < packed; i++) sum += weight[w->pixel[i]] * a[i] * b[i];
            if (out->matrix) out->matrix[p * w->n + q] += sum;
            if (out->matrix && q < p) out->matrix[q * w->n + p] += sum;
            if (out->diagonal && q == p) out->diagonal[p] += sum;
        }
}

static nb_status take_memory(struct plane_work *w)
{
    const size_t n = pixels_of(w), nbox = w->scene.detector.nbox;
    const size_t packed = (size_t)w->window.count;

    w->image = calloc(3 * n + (w->n + TERMS) * packed + w->n, sizeof *w->image);
    w->owner = calloc(n, sizeof *w->owner);
    w->pixel = calloc(packed + nbox + 1, sizeof *w->pixel);
    if (!w->image || !w->owner || !w->pixel)
        return fail_memory(w->ctx, "the errors of a fit");
    w->second = w->image + n;
    w->square = w->second + n;
    w->column = w->square + n;
    w->term = w->column + w->n * packed;
    w->first = w->pixel + packed;
    return NB_OK;
}

static nb_status find(struct plane_work *w, int wants, nb_normal *out)
{
    NB_TRY(take_memory(w));
    draw_boxes(w);
    NB_TRY(weigh(w));
    NB_TRY(take_columns(w));
    eliminate_all(w);
    add_products(w, wants == FIT_MEAT ? w->square : w->second, out);
    return NB_OK;
}

nb_status plane_errors_normal(struct fit_worker *worker, nb_simulator *sim,
                              const nb_target *target, int wants, nb_normal *out)
{
    struct plane_work w = {.ctx = worker->ctx,
                           .sim = sim,
                           .x = worker->x,
                           .target = target,
                           .n = (size_t)nb_simulator_nparam(sim)};
    struct window_pixels pixels;
    nb_status status;

    NB_TRY(nb_simulator_describe(sim, w.x, &w.d));
    NB_TRY(nb_simulator_resolved(sim, w.x, &w.scene));
    pixels = window_pixels_of(&w.scene.detector);
    status = window_make(&pixels, &w.window) ? find(&w, wants, out)
                                             : fail_memory(w.ctx, "the pixels of a shot");
    window_free(&w.window);
    free(w.image);
    free(w.owner);
    free(w.pixel);
    return status;
}
