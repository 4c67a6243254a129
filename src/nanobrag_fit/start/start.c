/*
 * start.c - start values of a fit by the sizes of measured spots; image.h has the formulas.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/image.h>

#include "base/context.h"
#include "scene/linear.h"
#include "scene/mosaic.h"

/* Least ratios of photons to error: the first ratio that FEWEST spots exceed is taken.
 * Widths more than `clip` deviations off the line leave. */
static const double bright[] = {10, 5}, clip = 4;
enum { FEWEST = 8, CLIPS = 8 };

/* variance of a gaussian block's spot times the square of the block's edge: 0.63/4 */
static const double block_variance = 0.1575;

/* Photons a pixel below which the background tells no gain. */
static const double least_background = 0.5;

/* The terms of a width: 1/A^2 of the block, mosaic spread, strain. */
enum { BLOCK, MOSAIC, STRAIN, TERMS };

/* a width, and the terms that cause it */
struct width {
    double value, term[TERMS];
};

/* least squares over widths */
struct line {
    double value[TERMS], error[TERMS]; /* 1/A^2, 1, 1 */
    int is_free[TERMS];
    double deviation; /* of a width about the line */
};

static int by_value(const void *a, const void *b)
{
    const double p = *(const double *)a, q = *(const double *)b;

    return p < q ? -1 : p > q;
}

static double median(double *value, size_t n)
{
    qsort(value, n, sizeof *value, by_value);
    return (value[(n - 1) / 2] + value[n / 2]) / 2;
}

/* ---- least squares ---- */

/* Inverts a symmetric matrix of the free terms in place; the rows of others become 0.
 * Returns 0 if it is singular. */
static int invert(double a[TERMS][TERMS], const int *is_free)
{
    double b[TERMS][2 * TERMS] = {{0}};

    for (int i = 0; i < TERMS; i++) {
        for (int k = 0; k < TERMS; k++)
            b[i][k] = is_free[i] && is_free[k] ? a[i][k] : i == k;
        b[i][TERMS + i] = 1;
    }
    for (int i = 0; i < TERMS; i++) {
        if (!(b[i][i] > 1e-9 * (is_free[i] ? a[i][i] : 1))) return 0;
        for (int k = 0; k < TERMS; k++) {
            const double factor = k == i ? 0 : b[k][i] / b[i][i];

            for (int j = 0; j < 2 * TERMS; j++) b[k][j] -= factor * b[i][j];
        }
    }
    for (int i = 0; i < TERMS; i++)
        for (int k = 0; k < TERMS; k++)
            a[i][k] = is_free[i] && is_free[k] ? b[i][TERMS + k] / b[i][i] : 0;
    return 1;
}

static double rest_of(const struct line *line, const struct width *w)
{
    double rest = w->value;

    for (int k = 0; k < TERMS; k++) rest -= line->value[k] * w->term[k];
    return rest;
}

/* Fits the free terms to the widths within `most` of the line. Returns 0 if they do not
 * determine it. */
static int fit_terms(const struct width *w, size_t n, double most, struct line *line)
{
    const struct line before = *line;
    double a[TERMS][TERMS] = {{0}}, right[TERMS] = {0}, squares = 0;
    size_t used = 0;
    int nfree = 0;

    for (size_t i = 0; i < n; i++) {
        if (!(fabs(rest_of(&before, w + i)) <= most)) continue;
        for (int k = 0; k < TERMS; k++) {
            right[k] += w[i].term[k] * w[i].value;
            for (int j = 0; j < TERMS; j++) a[k][j] += w[i].term[k] * w[i].term[j];
        }
    }
    if (!invert(a, line->is_free)) return 0;
    for (int k = 0; k < TERMS; k++) {
        nfree += line->is_free[k];
        line->value[k] = 0;
        for (int j = 0; j < TERMS; j++) line->value[k] += a[k][j] * right[j];
    }
    for (size_t i = 0; i < n; i++) {
        const double rest = rest_of(line, w + i);

        if (!(fabs(rest_of(&before, w + i)) <= most)) continue;
        squares += rest * rest;
        used++;
    }
    if (used < FEWEST) return 0;
    for (int k = 0; k < TERMS; k++)
        line->error[k] = sqrt(a[k][k] * squares / (double)(used - (size_t)nfree));
    return 1;
}

/* Fits a line, and again without the widths that are far off it. `work` has room for n. */
static int fit_line(const struct width *w, size_t n, double *work, struct line *line)
{
    double most = INFINITY;

    for (int round = 0; round < CLIPS; round++) {
        if (!fit_terms(w, n, most, line)) return 0;
        for (size_t i = 0; i < n; i++) work[i] = fabs(rest_of(line, w + i));
        line->deviation = 1.4826 * median(work, n);
        most = clip * line->deviation;
        if (!(most > 0)) break;
    }
    return 1;
}

/* Fits all terms. A term below 0 starts at its error, and the fit of the other terms omits
 * this term. Returns 0 if the widths determine nothing. */
static int fit_all(const struct width *w, size_t n, double *work, struct line *line)
{
    double least[TERMS] = {0};

    for (int k = 0; k < TERMS; k++) line->is_free[k] = 1;
    for (int round = 0; round < TERMS; round++) {
        int worst = -1;

        if (!fit_line(w, n, work, line)) return 0;
        for (int k = 0; k < TERMS; k++)
            if (line->is_free[k] && line->value[k] < 0
                && (worst < 0
                    || line->value[k] * line->error[worst]
                           < line->value[worst] * line->error[k]))
                worst = k;
        if (worst < 0) break;
        line->is_free[worst] = 0;
        least[worst] = line->error[worst];
    }
    for (int k = 0; k < TERMS; k++)
        if (!line->is_free[k]) line->value[k] = line->error[k] = least[k];
    for (int k = 0; k < TERMS; k++) line->value[k] = fmax(line->value[k], line->error[k]);
    return line->value[BLOCK] > 0;
}

/* ---- the sizes ---- */

/* Lists the widths of spots that are bright enough. Returns the number of widths. */
static size_t list_widths(size_t n, const nb_spot_size *spot, double least, struct width *w)
{
    size_t m = 0;

    for (size_t i = 0; i < n; i++) {
        const double q2 = spot[i].q * spot[i].q;
        const double c = pow(cos(linear_radian(spot[i].two_theta) / 2), 2);

        if (!(spot[i].photons > least * spot[i].error) || !isfinite(spot[i].tangential)
            || !isfinite(spot[i].radial) || !(q2 > 0))
            continue;
        w[m++] = (struct width){spot[i].tangential, {1, q2, 0}};
        w[m++] = (struct width){spot[i].radial * c, {1, 0, q2}};
    }
    return m;
}

static void find_sizes(size_t n, const nb_spot_size *spot, struct width *w, double *work,
                       nb_start *start)
{
    struct line line = {.deviation = 0};
    size_t m = 0;

    for (size_t i = 0; m < 2 * (size_t)FEWEST; i++) {
        if (i == sizeof bright / sizeof *bright) return;
        m = list_widths(n, spot, bright[i], w);
    }
    if (!fit_all(w, m, work, &line)) return;
    start->spots = (int64_t)(m / 2);
    start->block = sqrt(block_variance / line.value[BLOCK]);
    start->block_error = start->block * line.error[BLOCK] / (2 * line.value[BLOCK]);
    start->mosaic = linear_degree(sqrt(line.value[MOSAIC])) / MOSAIC_OF_SPREAD;
    start->strain = sqrt(line.value[STRAIN]);
    /* a value that is its own error: half of it */
    start->mosaic_error = start->mosaic * line.error[MOSAIC] / (2 * line.value[MOSAIC]);
    start->strain_error = start->strain * line.error[STRAIN] / (2 * line.value[STRAIN]);
}

/* ---- the gain ---- */

static void find_gain(size_t n, const nb_spot_size *spot, double *work, nb_start *start)
{
    size_t m = 0;

    for (size_t i = 0; i < n; i++) {
        const double mean = spot[i].background, variance = spot[i].variance;

        if (!(mean > 0) || !(variance > 0) || !(mean * mean > least_background * variance))
            continue;
        work[m++] = variance / mean;
    }
    if (m < FEWEST) return;
    start->boxes = (int64_t)m;
    start->gain = median(work, m);
    for (size_t i = 0; i < m; i++) work[i] = fabs(work[i] - start->gain);
    /* the median of m normal numbers varies by sqrt(pi/2 m) deviations */
    start->gain_error = 1.4826 * median(work, m) * sqrt(acos(-1) / (2 * (double)m));
}

nb_status nb_spot_sizes_start(nb_context *ctx, size_t n, const nb_spot_size *spot,
                              nb_start *start)
{
    struct width *w;
    double *work;

    if (!ctx) return NB_ERR_ARGUMENT;
    if (!start || (n > 0 && !spot))
        return fail(ctx, NB_ERR_ARGUMENT, "the list of spots or the start is NULL");
    *start = (nb_start){0, NAN, NAN, NAN, NAN, NAN, NAN, 0, NAN, NAN};
    w = calloc(2 * n + 1, sizeof *w);
    work = calloc(2 * n + 1, sizeof *work);
    if (!w || !work) {
        free(w);
        free(work);
        return fail_memory(ctx, "the widths of spots");
    }
    find_sizes(n, spot, w, work, start);
    find_gain(n, spot, work, start);
    free(w);
    free(work);
    return NB_OK;
}
