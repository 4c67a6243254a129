/*
 * samples.h - the loops over samples of the continuous strategy. A spot is drawn as a
 * profile: polynomials in the two coordinates a, b of its ellipse, whose values at a sample
 * give the intensity there. No loop knows anything of crystals.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_SAMPLES_H
#define NB_KERNELS_CONTINUOUS_SAMPLES_H

#include <stddef.h>

#include "kernels/continuous/spectrum.h"

/* The polynomials of a profile: log I at its maximum over z (l, degree 4), the place of the
 * maximum (m, 4), minus the second derivative of log I there (h, 2), and its third and
 * fourth derivative (l3, l4; 1). Monomials are ordered by degree, then as a^(d-j) b^j, j
 * from 0 to d: 1, a, b, aa, ab, bb, aaa, ... */
enum {
    SPOT_L = 0,
    SPOT_M = 15,
    SPOT_H = 30,
    SPOT_L3 = 36,
    SPOT_L4 = 39,
    SPOT_COEFFICIENTS = 42
};

/* The intensity of a sample. With t = z - m, c3 = l3/6 and c4 = l4/24 it is:
 * PROFILE_STILL  exp(l); only the first 15 coefficients are used.
 * PROFILE_RANGE  exp(l)/(2 half) times the integral over z from -half to half of
 *                exp(-h t^2/2) (1 + c3 t^3 + c3^2 t^6/2 + c4 t^4).
 * PROFILE_TABLE  exp(l) sqrt(2 pi/h) S(m + l3/(2 h^2)), where S is the list of lines of
 *                spectrum.h smoothed by the variance 1/h; l4 is not used. The row is made
 *                for one variance; samples use S + (1/h - variance)/2 S''.
 *
 * h is above 0 at every sample. */
enum profile_kind { PROFILE_STILL, PROFILE_RANGE, PROFILE_TABLE };

struct profile {
    int kind;
    double half; /* PROFILE_RANGE: z from -half to half */
    const struct spectrum_row *row; /* PROFILE_TABLE */
    double c[SPOT_COEFFICIENTS];
};

/* Samples of one sub-pixel row that lie side by side: sample i of n is at (a + i da, b).
 * They begin at a pixel's edge and are whole pixels. */
struct sample_row {
    double a, da, b;
    int n;
    size_t pixel; /* number of the first pixel in the arrays of the calls below */
};

/* The sum of weight x I, and the cotangents of profile.c and profile.half. */
struct spot_moments {
    double sum;
    double c[SPOT_COEFFICIENTS];
    double half;
};

/* A change of a profile; `grid` is the change of its row's numbers, or NULL. */
struct profile_change {
    double c[SPOT_COEFFICIENTS];
    double half;
    const double *grid;
    int none; /* 1: all is 0 */
};

/* n directions of change. The change of pixel p along dot[d] is added to change[d * stride
 * + p], and the pixel itself to pixel[p]. */
struct spot_changes {
    int n;
    const struct profile_change *dot;
    double *pixel, *change;
    size_t stride;
};

/* The kernels of one instruction set and precision. `over` is the number of samples of a
 * pixel along a row. The value of a sample does not depend on the rows it comes with. */
struct continuous_kernels {
    /* pixel[p] += scale x I, summed over the samples of each pixel. */
    void (*draw)(const struct profile *profile, int over, int nrows,
                 const struct sample_row *rows, double scale, double *pixel);
    /* Adds to `out`; weight[pixel] is dL/d(pixel). With PROFILE_TABLE, adds the cotangents
     * of the numbers of profile.row to `grid` unless that is NULL. */
    void (*moments)(const struct profile *profile, int over, int nrows,
                    const struct sample_row *rows, const double *weight,
                    struct spot_moments *out, double *grid);
    /* pixel[p] += scale x I, and change[d * stride + p] += scale x (derivative of I along
     * dot[d]). */
    void (*changes)(const struct profile *profile, int over, int nrows,
                    const struct sample_row *rows, double scale,
                    const struct spot_changes *to);
};

#endif
