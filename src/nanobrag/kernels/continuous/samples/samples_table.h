/*
 * samples_table.h - samples of PROFILE_TABLE, interpolated in the spot's row of the
 * spectrum (spectrum.h). Each sample finds its cell of the grid and copies the cell's six
 * numbers; all else is arithmetic in SIMD lanes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_SAMPLES_TABLE_H
#define NB_KERNELS_CONTINUOUS_SAMPLES_TABLE_H

#include "kernels/continuous/samples/samples_batch.h"

/* The numbers of a cell, the interval between two points of a spectrum's row. Number k is
 * the value (k >> 1 is 0), slope (1) or second derivative (2) at the cell's lower (k & 1 is
 * 0) or upper end (1). */
enum { CELL = 6 };

/* The numbers of one plane of a batch. */
struct cells {
    int cell[SLOTS]; /* counted from form.base */
    _Alignas(64) real f[SLOTS]; /* place in the cell, from 0 to 1 */
    _Alignas(64) real heat[SLOTS]; /* factor of the second derivative */
    _Alignas(64) real bright[SLOTS]; /* exp(l)/sqrt(h) */
    _Alignas(64) real ih[SLOTS]; /* 1/h */
    _Alignas(64) real inside[SLOTS]; /* 1 on the grid, 0 beyond its ends */
    _Alignas(64) real number[CELL][SLOTS];
};

/* Finds the cells of plane j, and the numbers of the cells. */
static void find_cells(const struct form *form, const struct batch *batch, int j,
                       struct cells *to)
{
    const struct form f = *form;
    const real plane = (real)j;
    const int last = f.n - 2 - f.base;

#pragma omp simd
    for (int i = 0; i < batch->padded; i++) {
        const real a = batch->a[i] + plane * batch->step[i], b = batch->b[i];
        const real ir = 1 / sqrt(curvature(f.c + SPOT_H, a, b)), ih = ir * ir;
        const real place =
            f.start + quartic(f.c + SPOT_M, a, b) + linear(f.c + SPOT_L3, a, b) * ih * ih;
        const real up = place > f.lowest ? place : f.lowest;
        const real x = up < f.highest ? up : f.highest;
        const int whole = (int)floor(x);
        const int cell = whole < last ? whole : last;

        to->cell[i] = cell;
        to->f[i] = x - (real)cell;
        to->heat[i] = (ih - f.variance) * f.heat;
        to->bright[i] = phys_exp(quartic(f.c + SPOT_L, a, b)) * ir;
        to->ih[i] = ih;
        to->inside[i] = x == place ? (real)1 : (real)0;
    }
    for (int i = 0; i < batch->padded; i++) {
        const double *number = f.number + f.base + to->cell[i];

        for (int k = 0; k < CELL; k++)
            to->number[k][i] = (real)number[(k >> 1) * f.n + (k & 1)];
    }
}

/* The polynomial of degree 5 through the numbers of a cell: coefficients of f^0 to f^5. */
struct quintic {
    real c0, c1, c2, c3, c4, c5;
};

PHYS_FN struct quintic quintic_of(const struct cells *at, int i)
{
    const real d0 = at->number[2][i], d1 = at->number[3][i];
    const real s0 = at->number[4][i] * (real)0.5, s1 = at->number[5][i] * (real)0.5;
    const real rise = at->number[1][i] - at->number[0][i];
    struct quintic q;

    q.c0 = at->number[0][i];
    q.c1 = d0;
    q.c2 = s0;
    q.c3 = 10 * rise - 6 * d0 - 4 * d1 - 3 * s0 + s1;
    q.c4 = -15 * rise + 8 * d0 + 7 * d1 + 3 * s0 - 2 * s1;
    q.c5 = 6 * rise - 3 * (d0 + d1) - s0 + s1;
    return q;
}

PHYS_FN real quintic_value(struct quintic q, real f)
{
    return q.c0 + f * (q.c1 + f * (q.c2 + f * (q.c3 + f * (q.c4 + f * q.c5))));
}

PHYS_FN real quintic_slope(struct quintic q, real f)
{
    return q.c1 + f * (2 * q.c2 + f * (3 * q.c3 + f * (4 * q.c4 + f * (5 * q.c5))));
}

PHYS_FN real quintic_second(struct quintic q, real f)
{
    return 2 * q.c2 + f * (6 * q.c3 + f * (12 * q.c4 + f * (20 * q.c5)));
}

PHYS_FN real quintic_third(struct quintic q, real f)
{
    return 6 * q.c3 + f * (24 * q.c4 + f * (60 * q.c5));
}

/* Replaces number[k][i] by weight[i] times the derivative of value i by number k of its
 * cell. */
static void weigh_numbers(int n, const real *restrict weight, struct cells *at)
{
#pragma omp simd
    for (int i = 0; i < n; i++) {
        const real f = at->f[i], f2 = f * f, f3 = f2 * f, v = at->heat[i];
        const real w = weight[i] * at->bright[i];
        const real up = f3 * (10 - 15 * f + 6 * f2) + v * f * (60 - 180 * f + 120 * f2);

        at->number[0][i] = w * (1 - up);
        at->number[1][i] = w * up;
        at->number[2][i] =
            w * (f - f3 * (6 - 8 * f + 3 * f2) - v * f * (36 - 96 * f + 60 * f2));
        at->number[3][i] =
            w * (-f3 * (4 - 7 * f + 3 * f2) - v * f * (24 - 84 * f + 60 * f2));
        at->number[4][i] =
            w
            * (f2 * ((real)0.5 - f * ((real)1.5 - (real)1.5 * f) - (real)0.5 * f3)
               + v * (1 - 9 * f + 18 * f2 - 10 * f3));
        at->number[5][i] =
            w * (f3 * ((real)0.5 - f + (real)0.5 * f2) + v * f * (3 - 12 * f + 10 * f2));
    }
}

#endif
