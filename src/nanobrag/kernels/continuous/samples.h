/*
 * samples.h - the loops over samples for continuous crystals. A spot is drawn as a profile:
 * polynomials in the two coordinates a, b of its ellipse, whose values at a sample give the
 * intensity there. Nothing here depends on the crystal otherwise.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_SAMPLES_H
#define NB_KERNELS_CONTINUOUS_SAMPLES_H

#include <stddef.h>

#include "kernels/continuous/spectrum.h"

/* The polynomials of a profile and their degrees: l, log I at its maximum over z (4); m,
 * the place of the maximum (4); h, minus the second derivative of log I there (2); l3 and
 * l4, its third and fourth derivative (1). Monomials are ordered by degree, then as a^(d-j)
 * b^j, j from 0 to d: 1, a, b, aa, ab, bb, aaa, ... */
enum {
    SPOT_L = 0,
    SPOT_M = 15,
    SPOT_H = 30,
    SPOT_L3 = 36,
    SPOT_L4 = 39,
    SPOT_COEFFICIENTS = 42
};

/* The intensity of a sample, with t = z - m, c3 = l3/6 and c4 = l4/24:
 * PROFILE_STILL  exp(l); only the first 15 coefficients are used.
 * PROFILE_RANGE  exp(l)/(2 half) times the integral over z from -half to half of
 *                exp(-h t^2/2) (1 + c3 t^3 + c3^2 t^6/2 + c4 t^4).
 * PROFILE_TABLE  exp(l) sqrt(2 pi/h) S(m + l3/(2 h^2)), where S is the list of lines of
 *                spectrum.h, smoothed by the variance 1/h; l4 is not used. S is tabulated
 *                for one variance, and samples use S + (1/h - variance)/2 S''.
 *
 * h must be above 0 at every sample. */
enum profile_kind { PROFILE_STILL, PROFILE_RANGE, PROFILE_TABLE };

struct profile {
    int kind;
    double half; /* PROFILE_RANGE: z from -half to half */
    const struct spectrum_row *row; /* PROFILE_TABLE: the table of S */
    double c[SPOT_COEFFICIENTS];
};

/* Samples of one row of sub-pixels that lie side by side: sample i of n is at (a + i da,
 * b). The samples begin at the edge of a pixel and fill whole pixels. */
struct sample_row {
    double a, da, b;
    int n;
    size_t pixel; /* index of the first pixel in the arrays of the kernels below */
};

/* Sums over samples: of weight x I, and the cotangents of profile.c and profile.half. */
struct spot_moments {
    double sum;
    double c[SPOT_COEFFICIENTS];
    double half;
};

/* A change of a profile. `grid` is the change of the numbers of profile.row, or NULL. */
struct profile_change {
    double c[SPOT_COEFFICIENTS];
    double half;
    const double *grid;
    int none; /* 1: all is 0 */
};

/* n changes of a profile. The change of pixel p along dot[d] is added to change[d * stride
 * + p], and the pixel itself to pixel[p]. */
struct spot_changes {
    int n;
    const struct profile_change *dot;
    double *pixel, *change;
    size_t stride;
};

/* The kernels of one instruction set and precision. `over` is the number of samples that a
 * pixel has along a row. The value of a sample depends on no other row of the call. */
struct continuous_kernels {
    /* pixel[p] += scale x (sum of I over the samples of pixel p) */
    void (*draw)(const struct profile *profile, int over, int nrows,
                 const struct sample_row *rows, double scale, double *pixel);
    /* Adds to `out`; weight[p] is dL/d(pixel p). For PROFILE_TABLE it also adds the
     * cotangents of the numbers of profile.row to `grid`, unless that is NULL. */
    void (*moments)(const struct profile *profile, int over, int nrows,
                    const struct sample_row *rows, const double *weight,
                    struct spot_moments *out, double *grid);
    /* For each sample of pixel p: pixel[p] += scale x I, and change[d * stride + p] +=
     * scale x (derivative of I along dot[d]). */
    void (*changes)(const struct profile *profile, int over, int nrows,
                    const struct sample_row *rows, double scale,
                    const struct spot_changes *to);
};

#endif
