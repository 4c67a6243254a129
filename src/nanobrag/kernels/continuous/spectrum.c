/*
 * spectrum.c - smooths a list of spectral lines. Lines are added to a uniform grid. There
 * the gaussian of a line is a constant table times powers of one number, which takes no
 * exponential.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/continuous/spectrum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A line extends over REACH widths, where it has fallen to 1e-8 of its peak. The step of a
 * grid is at most STEP widths. */
#define REACH 6.0
#define STEP  0.5

/* If a spectrum has fewer lines than FEW, its row is summed for each spot, without
 * tables. */
enum { TABLES = SPECTRUM_TABLES, BLENDED = 4, FEW = 24 };

/* ---- lines on a grid ---- */
/* The gaussian of lines of one width on a grid; `height` is its peak for a weight of 1. A
 * line covers `window` points, half of them before the nearest even point. Windows begin at
 * even points, so that vectors of two stay aligned. */
enum { WINDOW = 48, BLOCK = 32 };
struct look {
    double low, step, height;
    double h; /* step in widths */
    double skew; /* third-order correction; see struct hermite */
    int n, window;
    _Alignas(16) double shape[WINDOW]; /* exp(-x^2/2), x in widths from the even point */
    _Alignas(16) double fall[WINDOW]; /* x h */
};

static struct look look_of(const struct spectral_lines *s, const struct spectrum_grid *grid,
                           double width, double scale)
{
    const double spot = fmax(width * width - s->extra, 0); /* variance of the spot */
    struct look l;
    int half;

    l.n = grid->n;
    l.low = grid->low;
    l.step = grid->step;
    l.h = grid->step / width;
    l.height = scale / (width * sqrt(2 * M_PI));
    l.skew = -0.5 * spot * spot / pow(width * l.h, 3);
    half = 2 * (int)ceil((REACH / l.h + 1) / 2);
    l.window = 2 * half;
    for (int k = 0; k < l.window; k++) {
        const double x = (k - half) * l.h;

        l.shape[k] = exp(-0.5 * x * x);
        l.fall[k] = x * l.h;
    }
    return l;
}

/* Some lines on the grid. first: the first point that each covers. Let f be how far the
 * line is above its nearest even point, in widths; then u = f h, ratio = exp(f h), start =
 * exp(-f^2/2) exp(f h)^(-window/2). The gaussian at point k of the window is start ratio^k
 * shape[k]. */
struct line_batch {
    int first[BLOCK];
    double u[BLOCK], ratio[BLOCK], start[BLOCK];
};

/* Returns e^x for |x| <= 1/4, to 4e-17. */
static inline double small_exp(double x)
{
    double s = 1 / 39916800.;

    s = s * x + 1 / 3628800.;
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

static void place_lines(const struct look *l, int n, const double *restrict e,
                        struct line_batch *restrict to)
{
    const double low = l->low, per_pair = 0.5 / l->step, h = l->h;
    const double half = l->window / 2.0;
    const int before = l->window / 2;

#pragma omp simd
    for (int i = 0; i < n; i++) {
        const double at = (e[i] - low) * per_pair;
        const int pair = (int)(at + 0.5);
        const double f = (at - pair) * 2 * h, u = f * h;
        const double root = small_exp((f * f * -0.5 - half * u) / 16);
        const double r2 = root * root, r4 = r2 * r2, r8 = r4 * r4;

        to->first[i] = 2 * pair - before;
        to->u[i] = u;
        to->ratio[i] = small_exp(u);
        to->start[i] = r8 * r8;
    }
}

/* Writes weight times the gaussian of line i at its points. */
static inline void shape_line(const struct look *l, const struct line_batch *block, int i,
                              double weight, double *restrict g)
{
    const double q = block->ratio[i], q2 = q * q, q4 = q2 * q2;
    double p0 = weight * block->start[i], p1 = p0 * q, p2 = p0 * q2, p3 = p1 * q2;

    for (int k = 0; k < l->window; k += 4) {
        g[k] = p0 * l->shape[k];
        g[k + 1] = p1 * l->shape[k + 1];
        g[k + 2] = p2 * l->shape[k + 2];
        g[k + 3] = p3 * l->shape[k + 3];
        p0 *= q4;
        p1 *= q4;
        p2 *= q4;
        p3 *= q4;
    }
}

/*
 * A reflection is a gaussian of the energy about its place on the streak, with a width that
 * is a share of that energy. Let x be the logarithm of the energy over the energy at the
 * place, in widths s. The reflection is exp(-(exp(s x) - 1)^2/(2 s^2)), to first order
 * exp(-x^2/2) (1 - s x^3/2). The third derivative of log I accounts for the mean of the
 * second term; the rest of it is -s/2 times Hermite's polynomial He3(x).
 *
 * For t = x h and a step of h widths, hermite() returns He2 to He6 in units of the step, as
 * t2 to t6. Up to sign, exp(-x^2/2) He(k+1) is the derivative of exp(-x^2/2) He(k).
 */
struct hermite {
    double t2, t3, t4, t5, t6;
};

static inline struct hermite hermite(double t, double h2)
{
    struct hermite to;

    to.t2 = t * t - h2;
    to.t3 = t * to.t2 - 2 * h2 * t;
    to.t4 = t * to.t3 - 3 * h2 * to.t2;
    to.t5 = t * to.t4 - 4 * h2 * to.t3;
    to.t6 = t * to.t5 - 5 * h2 * to.t4;
    return to;
}

/* Adds the spectrum, smoothed to a width and multiplied by `scale`, to `number`: its
 * values, slopes and second derivatives at the points of the grid (SPECTRUM_NUMBERS). */
static void add_lines(const struct spectral_lines *s, const struct spectrum_grid *grid,
                      double width, double scale, double *number)
{
    const struct look l = look_of(s, grid, width, scale);
    const double h2 = l.h * l.h;
    struct line_batch block;

    for (int j = 0; j < s->n; j++) {
        const int i = j % BLOCK;
        double *restrict value, *restrict slope, *restrict second, g[WINDOW];

        if (i == 0) place_lines(&l, s->n - j < BLOCK ? s->n - j : BLOCK, s->e + j, &block);
        shape_line(&l, &block, i, s->w[j] * l.height, g);
        value = number + block.first[i];
        slope = value + l.n;
        second = slope + l.n;
#pragma omp simd
        for (int k = 0; k < l.window; k++) {
            const double t = block.u[i] - l.fall[k];
            const struct hermite he = hermite(t, h2);

            value[k] += g[k] * (1 + l.skew * he.t3);
            slope[k] += g[k] * (t + l.skew * he.t4);
            second[k] += g[k] * (he.t2 + l.skew * he.t5);
        }
    }
}

/* The tangent of add_lines() by the lines; add_line_cotangents() is its adjoint. */
static void add_line_changes(const struct spectral_lines *s,
                             const struct spectrum_grid *grid, double width, double scale,
                             const double *dot_e, const double *dot_w, double *number)
{
    const struct look l = look_of(s, grid, width, scale);
    const double h2 = l.h * l.h;
    struct line_batch block;

    for (int j = 0; j < s->n; j++) {
        const double by_weight = dot_w[j], by_place = -dot_e[j] * s->w[j] / l.step;
        const int i = j % BLOCK;
        double *restrict value, *restrict slope, *restrict second, g[WINDOW];

        if (i == 0) place_lines(&l, s->n - j < BLOCK ? s->n - j : BLOCK, s->e + j, &block);
        shape_line(&l, &block, i, l.height, g);
        value = number + block.first[i];
        slope = value + l.n;
        second = slope + l.n;
#pragma omp simd
        for (int k = 0; k < l.window; k++) {
            const double t = block.u[i] - l.fall[k];
            const struct hermite he = hermite(t, h2);
            const double rise = t + l.skew * he.t4, bend = he.t2 + l.skew * he.t5;

            value[k] += g[k] * (by_weight * (1 + l.skew * he.t3) + by_place * rise);
            slope[k] += g[k] * (by_weight * rise + by_place * bend);
            second[k] += g[k] * (by_weight * bend + by_place * (he.t3 + l.skew * he.t6));
        }
    }
}

static void add_line_cotangents(const struct spectral_lines *s,
                                const struct spectrum_grid *grid, double width,
                                double scale, const double *bar, double *bar_e,
                                double *bar_w)
{
    const struct look l = look_of(s, grid, width, scale);
    const double h2 = l.h * l.h;
    struct line_batch block;

    for (int j = 0; j < s->n; j++) {
        const int i = j % BLOCK;
        const double *value, *slope, *second;
        double g[WINDOW], by_weight = 0, by_place = 0;

        if (i == 0) place_lines(&l, s->n - j < BLOCK ? s->n - j : BLOCK, s->e + j, &block);
        shape_line(&l, &block, i, l.height, g);
        value = bar + block.first[i];
        slope = value + l.n;
        second = slope + l.n;
#pragma omp simd reduction(+ : by_weight, by_place)
        for (int k = 0; k < l.window; k++) {
            const double t = block.u[i] - l.fall[k];
            const struct hermite he = hermite(t, h2);
            const double rise = t + l.skew * he.t4, bend = he.t2 + l.skew * he.t5;

            by_weight +=
                g[k]
                * ((1 + l.skew * he.t3) * value[k] + rise * slope[k] + bend * second[k]);
            by_place += g[k]
                        * (rise * value[k] + bend * slope[k]
                           + (he.t3 + l.skew * he.t6) * second[k]);
        }
        bar_w[j] += by_weight;
        bar_e[j] -= by_place * s->w[j] / l.step;
    }
}

/* ---- widths ---- */
/* Returns the grid for widths from `width` to 2 `width`. Its points are multiples of the
 * step, so that they stay where they are if lines move a little. */
static struct spectrum_grid grid_for(const struct spectral_lines *s, double width)
{
    const double step = STEP * width, reach = 2 * (REACH + 2) / STEP;
    const double first = floor(s->first / step - reach);

    return (struct spectrum_grid){.n = 2 * (int)((s->last / step + reach - first) / 2 + 1),
                                  .low = first * step,
                                  .step = step};
}

static double table_width(const struct spectral_lines *s, int half_octave, int table)
{
    return s->least
           * pow(2, 0.5 * (half_octave + (table - 1) / (double)SPECTRUM_INTERVALS));
}

static int make_tables(struct spectral_lines *s, double narrow, double wide)
{
    size_t room = 0;

    s->half_octaves = 0;
    if (s->n < FEW || !(narrow > 0) || !(wide >= narrow)) return 1;
    s->least = sqrt(narrow * narrow + s->extra);
    const double octaves = log2(sqrt(wide * wide + s->extra) / s->least);
    const int count =
        octaves < MOST_HALF_OCTAVES / 2.0 ? (int)(2 * octaves) + 1 : MOST_HALF_OCTAVES;

    for (int i = 0; i < count; i++) {
        s->grid[i] = grid_for(s, table_width(s, i, 1));
        room += (size_t)TABLES * SPECTRUM_NUMBERS * (size_t)s->grid[i].n;
    }
    if (room > s->tables_room) {
        double *more = realloc(s->tables, sizeof *more * room);

        if (!more) return 0;
        s->tables = more;
        s->tables_room = room;
    }
    memset(s->tables, 0, sizeof *s->tables * room);
    double *at = s->tables;

    for (int i = 0; i < count; i++) {
        s->grid[i].table = at;
        for (int t = 0; t < TABLES; t++) {
            add_lines(s, s->grid + i, table_width(s, i, t), 1, at);
            at += SPECTRUM_NUMBERS * (size_t)s->grid[i].n;
        }
    }
    s->half_octaves = count;
    return 1;
}

int spectrum_make(struct spectral_lines *s, int n, const double *e, const double *w,
                  double extra, double narrow, double wide)
{
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
    return make_tables(s, narrow, wide);
}

void spectrum_free(struct spectral_lines *s)
{
    free(s->e);
    free(s->tables);
    memset(s, 0, sizeof *s);
}

/* ---- rows ---- */
/* How a row is made: the sum of share[t] times the numbers for width[t], t < count. */
struct blend {
    struct spectrum_grid grid;
    int count, half_octave, first; /* first: index of the first table; -1: without tables */
    double width[BLENDED], share[BLENDED];
};

/* Returns the blend for a variance of a spot. The shares are the weights of cubic
 * interpolation in the logarithm of the width. */
static struct blend blend_of(const struct spectral_lines *s, double variance)
{
    const double width = sqrt(variance + s->extra);
    const double place = s->half_octaves > 0 ? 2 * log2(width / s->least) : -1;
    struct blend b = {.count = 1, .first = -1, .width = {width}, .share = {1}};

    if (!(place >= 0 && place < s->half_octaves)) {
        b.grid = grid_for(s, width);
        return b;
    }
    const double table = (place - floor(place)) * SPECTRUM_INTERVALS,
                 x = table - floor(table);

    b.half_octave = (int)place;
    b.grid = s->grid[b.half_octave];
    b.first = (int)table;
    b.count = BLENDED;
    for (int t = 0; t < BLENDED; t++)
        b.width[t] = table_width(s, b.half_octave, b.first + t);
    b.share[0] = -x * (x - 1) * (x - 2) / 6;
    b.share[1] = (x + 1) * (x - 1) * (x - 2) / 2;
    b.share[2] = -(x + 1) * x * (x - 2) / 2;
    b.share[3] = (x + 1) * x * (x - 1) / 6;
    return b;
}

int spectrum_row(const struct spectral_lines *s, double variance, struct spectrum_row *row)
{
    const struct blend b = blend_of(s, variance);
    const size_t n = SPECTRUM_NUMBERS * (size_t)b.grid.n;

    row->n = 0;
    if (b.grid.n > row->room) {
        double *number = realloc(row->number, sizeof *number * n);

        if (!number) return 0;
        row->number = number;
        row->room = b.grid.n;
    }
    row->n = b.grid.n;
    row->low = b.grid.low;
    row->step = b.grid.step;
    row->variance = variance;
    if (b.first < 0) {
        memset(row->number, 0, sizeof *row->number * n);
        add_lines(s, &b.grid, b.width[0], 1, row->number);
        return 1;
    }
    const double *restrict t0 = b.grid.table + (size_t)b.first * n;
    const double *restrict t1 = t0 + n, *restrict t2 = t1 + n, *restrict t3 = t2 + n;
    double *restrict to = row->number;
    const double s0 = b.share[0], s1 = b.share[1], s2 = b.share[2], s3 = b.share[3];

#pragma omp simd
    for (size_t i = 0; i < n; i++)
        to[i] = s0 * t0[i] + s1 * t1[i] + s2 * t2[i] + s3 * t3[i];
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
    const struct blend b = blend_of(s, variance);

    for (int t = 0; t < b.count; t++)
        add_line_cotangents(s, &b.grid, b.width[t], b.share[t], grid, bar_e, bar_w);
}

int spectrum_bar_add(const struct spectral_lines *s, double variance, double scale,
                     const double *grid, struct spectrum_bar *to)
{
    const struct blend b = blend_of(s, variance);
    const size_t n = SPECTRUM_NUMBERS * (size_t)b.grid.n;
    double **table;

    if (b.first < 0) return 0;
    table = to->table[b.half_octave] + b.first;
    for (int t = 0; t < b.count; t++) {
        if (!table[t]) table[t] = calloc(n, sizeof *table[t]);
        if (!table[t]) return 0;
    }
    for (int t = 0; t < b.count; t++) {
        double *restrict sum = table[t];
        const double share = scale * b.share[t];

#pragma omp simd
        for (size_t i = 0; i < n; i++) sum[i] += share * grid[i];
    }
    return 1;
}

int spectrum_bar_give(const struct spectral_lines *s, const struct spectrum_bar *from,
                      double *bar_e, double *bar_w)
{
    int any = 0;

    for (int i = 0; i < s->half_octaves; i++)
        for (int t = 0; t < TABLES; t++) {
            if (!from->table[i][t]) continue;
            any = 1;
            add_line_cotangents(s, s->grid + i, table_width(s, i, t), 1, from->table[i][t],
                                bar_e, bar_w);
        }
    return any;
}

void spectrum_bar_free(struct spectrum_bar *bar)
{
    for (int i = 0; i < MOST_HALF_OCTAVES; i++)
        for (int t = 0; t < TABLES; t++) free(bar->table[i][t]);
}

void spectrum_row_change(const struct spectral_lines *s, double variance,
                         const double *dot_e, const double *dot_w, double *grid)
{
    const struct blend b = blend_of(s, variance);

    memset(grid, 0, sizeof *grid * SPECTRUM_NUMBERS * (size_t)b.grid.n);
    for (int t = 0; t < b.count; t++)
        add_line_changes(s, &b.grid, b.width[t], b.share[t], dot_e, dot_w, grid);
}
