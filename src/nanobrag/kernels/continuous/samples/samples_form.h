/*
 * samples_form.h - the form of a profile (samples.h), from which the intensity of samples
 * and its derivatives are computed in SIMD lanes.
 *
 * The form has units of its own: z in widths at the centre of the ellipse (for
 * PROFILE_TABLE in steps of the grid), and log I less its value at the centre. So floats
 * are precise enough for spots of any size and brightness. I is `factor` times the value
 * computed from the form.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_SAMPLES_FORM_H
#define NB_KERNELS_CONTINUOUS_SAMPLES_FORM_H

#include "kernels/continuous/samples.h"
#include "physics/trig.h"

/* Indices of derivatives: by each polynomial, and by `half`. */
enum { PART_L, PART_M, PART_H, PART_L3, PART_L4, PART_HALF, PARTS };

struct form {
    real c[SPOT_COEFFICIENTS]; /* coefficients in the form's units; the constants of l and m
                                  are left out */
    /* PROFILE_RANGE: ends of the range, counted from the constant of m */
    real below, above;
    real start; /* PROFILE_TABLE: place of the constant of m, from grid point `base` */
    real lowest, highest; /* ends of the grid, from point `base` */
    real variance, heat; /* heat (1/h - variance) is the factor of S'' */
    int base, n; /* n: number of grid points */
    const double *number; /* the numbers of profile.row */
    double factor;
    double unit[PARTS]; /* derivatives of the form's polynomials by the profile's */
    double per_half; /* 1/half for PROFILE_RANGE, else 0 */
};

PHYS_FN real linear(const real *c, real a, real b)
{
    return c[0] + a * c[1] + b * c[2];
}

PHYS_FN real quadratic(const real *c, real a, real b)
{
    return c[0] + a * (c[1] + a * c[3]) + b * (c[2] + a * c[4] + b * c[5]);
}

/* Returns the curvature along phi or energy, over its value at the middle of the spot. The
 * result stays above 0 where the polynomial of a wide spot falls towards 0. */
PHYS_FN real curvature(const real *c, real a, real b)
{
    const real h = quadratic(c, a, b), least = (real)0.015625;

    return h > least ? h : least;
}

PHYS_FN real quartic(const real *c, real a, real b)
{
    const real b0 = c[0] + a * (c[1] + a * (c[3] + a * (c[6] + a * c[10])));
    const real b1 = c[2] + a * (c[4] + a * (c[7] + a * c[11]));
    const real b2 = c[5] + a * (c[8] + a * c[12]);

    return b0 + b * (b1 + b * (b2 + b * (c[9] + a * c[13] + b * c[14])));
}

/* Returns Mills' ratio of x, the integral of exp((x^2 - t^2)/2) over t from x to infinity,
 * for s = (x - 4)/(x + 4). The result is a minimax polynomial in s, without error at x = 0.
 * Callers multiply the ratio by exp(-x^2/2); the error of this product is at most 1.4e-15
 * (in float 2e-8). */
PHYS_FN real mills(real s)
{
#ifdef PHYS_SINGLE
    real p = -0.0070097769834319736f;

    p = p * s - 0.035799707038504454f;
    p = p * s + 0.063894402053307089f;
    p = p * s - 0.18696275419188773f;
    p = p * s + 0.30955837162163511f;
    p = p * s - 0.42747883536330319f;
    return p * s + 0.23662984403029466f;
#else
    real p = 6.5896469957222410467e-6;

    p = p * s + 0.000051706546262341917326;
    p = p * s + 0.00012544517436224624149;
    p = p * s - 0.000066998040298744254147;
    p = p * s - 0.00044095364993345655678;
    p = p * s + 0.0016126289581242516773;
    p = p * s + 0.0012751149091757444576;
    p = p * s - 0.021286207099665138992;
    p = p * s + 0.077366552343379521399;
    p = p * s - 0.17974383396218723287;
    p = p * s + 0.31177255544854346398;
    p = p * s - 0.42712374693480087506;
    return p * s + 0.23665238291041161187;
#endif
}

#endif
