/*
 * spectrum.c - see spectrum.h. A row is the plain sum over the lines. On a uniform grid the
 * gaussian of a line is a constant table times powers of one number, so it costs no
 * exponential.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/continuous/spectrum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A line reaches REACH steps of half a width to either side of its grid point, where it is
 * 1e-8 of its peak. WINDOW is the number of points it covers, up to an even number. */
enum { REACH = 12, WINDOW = 2 * REACH + 2 };

#define STEP 0.5 /* of the grid, in widths */

int spectrum_make(struct spectral_lines *s, int n, const double *e, const double *w,
                  double extra, double narrow, double wide)
{
    (void)narrow;
    (void)wide;
    if (n > s->room) {
        double *both = realloc(s->e, sizeof *both * 2 * (size_t)n);

        if (!both) return 0;
        s->e = both;
        s->room = n;
    }
    s->w = s->e + s->room;
    s->n = n;
    s->extra = extra;
    s->first = s->last = n > 0 ? e[0] : 0;
    for (int i = 0; i < n; i++) {
        s->e[i] = e[i];
        s->w[i] = w[i];
        if (e[i] < s->first) s->first = e[i];
        if (e[i] > s->last) s->last = e[i];
    }
    return 1;
}

void spectrum_free(struct spectral_lines *s)
{
    free(s->e);
    memset(s, 0, sizeof *s);
}

/* The grid of a row, and how its lines look on it: `height` of a line of weight 1. */
struct layout {
    int n;
    double low, step, height;
    double shape[WINDOW]; /* exp(-x^2/2) at the points about the nearest to a line */
    double fall[WINDOW]; /* x times STEP there */
};

/* The grid consists of multiples of the step, so that it stays where it is when lines move
 * a little. */
static struct layout layout_of(const struct spectral_lines *s, double variance)
{
    const double width = sqrt(variance + s->extra);
    struct layout l;

    l.step = STEP * width;
    const double first = floor(s->first / l.step + 0.5) - REACH - 1;
    const double last = floor(s->last / l.step + 0.5) + REACH + 2;

    l.low = first * l.step;
    l.n = (int)(last - first) + 1;
    l.height = 1 / (width * sqrt(2 * M_PI));
    for (int k = 0; k < WINDOW; k++) {
        const double x = (k - REACH) * STEP;

        l.shape[k] = k <= 2 * REACH ? exp(-0.5 * x * x) : 0;
        l.fall[k] = x * STEP;
    }
    return l;
}

/* A line on the grid: number of the first point that it covers, how far it lies from the
 * nearest in units of `fall`, and exp(-x^2/2) at the points. */
struct line {
    int first;
    double u;
    double g[WINDOW];
};

/* Returns e^x for |x| <= 1/8, to 3e-18. */
static inline double small_exp(double x)
{
    double s = 1 / 3628800.;

    s = s * x + 1 / 362880.;
    s = s * x + 1 / 40320.;
    s = s * x + 1 / 5040.;
    s = s * x + 1 / 720.;
    s = s * x + 1 / 120.;
    s = s * x + 1 / 24.;
    s = s * x + 1 / 6.;
    s = s * x + 0.5;
    s = s * x + 1;
    return s * x + 1;
}

/* exp(-(x - f)^2/2), f from the nearest point to the line, is exp(-x^2/2) exp(-f^2/2)
 * exp(f STEP)^k at x = k STEP. */
static inline void place_line(const struct layout *l, double per_step, double e,
                              struct line *line)
{
    const double at = (e - l->low) * per_step, nearest = (double)(int)(at + 0.5);
    const double u = (at - nearest) * (STEP * STEP), f = u / STEP, q = small_exp(u);
    const double q2 = q * q, q4 = q2 * q2, q8 = q4 * q4, q16 = q8 * q8;
    double p[2 * 16];

    p[0] = small_exp(-0.5 * f * f) / (q8 * q4);
    p[1] = p[0] * q;
    for (int k = 0; k < 2; k++) p[2 + k] = p[k] * q2;
    for (int k = 0; k < 4; k++) p[4 + k] = p[k] * q4;
    for (int k = 0; k < 8; k++) p[8 + k] = p[k] * q8;
    for (int k = 0; k < WINDOW - 16; k++) p[16 + k] = p[k] * q16;
    for (int k = 0; k < WINDOW; k++) line->g[k] = p[k] * l->shape[k];
    line->first = (int)nearest - REACH;
    line->u = u;
}

/* With t = -x STEP at a point: slopes are t times the gaussian, second derivatives
 * t^2 - STEP^2 times it, third ones t (t^2 - 3 STEP^2). */
static void add_line(const struct line *line, const struct layout *l, double weight,
                     double *restrict value, double *restrict slope,
                     double *restrict second)
{
    value += line->first;
    slope += line->first;
    second += line->first;
    for (int k = 0; k < WINDOW; k++) {
        const double g = weight * line->g[k], t = line->u - l->fall[k];

        value[k] += g;
        slope[k] += g * t;
        second[k] += g * (t * t - STEP * STEP);
    }
}

int spectrum_row(const struct spectral_lines *s, double variance, struct spectrum_row *row)
{
    const struct layout l = layout_of(s, variance);
    const size_t bytes = sizeof *row->number * SPECTRUM_NUMBERS * (size_t)l.n;

    row->n = 0;
    if (l.n > row->room) {
        double *number = realloc(row->number, bytes);

        if (!number) return 0;
        row->number = number;
        row->room = l.n;
    }
    row->n = l.n;
    row->low = l.low;
    row->step = l.step;
    row->variance = variance;
    memset(row->number, 0, bytes);
    for (int i = 0; i < s->n; i++) {
        struct line line;

        place_line(&l, 1 / l.step, s->e[i], &line);
        add_line(&line, &l, s->w[i] * l.height, row->number, row->number + l.n,
                 row->number + 2 * (size_t)l.n);
    }
    return 1;
}

void spectrum_row_free(struct spectrum_row *row)
{
    free(row->number);
    memset(row, 0, sizeof *row);
}

void spectrum_row_adjoint(const struct spectral_lines *s, double variance,
                          const double *grid, double *bar_e, double *bar_w)
{
    const struct layout l = layout_of(s, variance);

    for (int i = 0; i < s->n; i++) {
        struct line line;
        double by_weight = 0, by_place = 0;

        place_line(&l, 1 / l.step, s->e[i], &line);
        const double *value = grid + line.first, *slope = value + l.n;
        const double *second = slope + l.n;

        for (int k = 0; k < WINDOW; k++) {
            const double g = line.g[k], t = line.u - l.fall[k];
            const double curve = t * t - STEP * STEP;
            const double third = t * (t * t - 3 * STEP * STEP);

            by_weight += g * (value[k] + t * slope[k] + curve * second[k]);
            by_place += g * (t * value[k] + curve * slope[k] + third * second[k]);
        }
        bar_w[i] += by_weight * l.height;
        bar_e[i] -= by_place * l.height * s->w[i] / l.step;
    }
}

void spectrum_row_change(const struct spectral_lines *s, double variance,
                         const double *dot_e, const double *dot_w, double *grid)
{
    const struct layout l = layout_of(s, variance);

    memset(grid, 0, sizeof *grid * SPECTRUM_NUMBERS * (size_t)l.n);
    for (int i = 0; i < s->n; i++) {
        const double of_weight = dot_w[i] * l.height;
        const double of_place = -dot_e[i] * l.height * s->w[i] / l.step;
        struct line line;

        place_line(&l, 1 / l.step, s->e[i], &line);
        double *value = grid + line.first, *slope = value + l.n, *second = slope + l.n;

        for (int k = 0; k < WINDOW; k++) {
            const double g = line.g[k], t = line.u - l.fall[k];
            const double curve = t * t - STEP * STEP;
            const double third = t * (t * t - 3 * STEP * STEP);

            value[k] += g * (of_weight + of_place * t);
            slope[k] += g * (of_weight * t + of_place * curve);
            second[k] += g * (of_weight * curve + of_place * third);
        }
    }
}
