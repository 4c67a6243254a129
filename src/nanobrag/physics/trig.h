/*
 * trig.h - sin and cos of pi x, and exp, as polynomials. The polynomials need no libm call,
 * so lanes, CUDA threads and NVRTC share them and every compiler can vectorise them.
 *
 * The coefficients are minimax fits, in double and in float. Each fit has the lowest degree
 * whose relative error is below the rounding of its evaluation, 1 to 2 units in the last
 * place.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_TRIG_H
#define NB_PHYSICS_TRIG_H

#include "phys.h"

/* Returns sin(pi t)/t from u = t^2, |t| <= 1/2. The relative error of the fit is
 * 1.5e-16, in float 6e-9. Three coefficients are changed by one unit in the last place
 * so that sin(pi/2) is exactly 1. */
PHYS_FN real phys_sinpi_over(real u)
{
#ifdef PHYS_SINGLE
    real s = 0.0775603870f;

    s = s * u - 0.598242126f;
    s = s * u + 2.55006973f;
    s = s * u - 5.16770968f;
    return s * u + 3.14159264f;
#else
    real s = -2.11282730485071325e-5;

    s = s * u + 4.65982664160173369e-4;
    s = s * u - 7.37036298986449478e-3;
    s = s * u + 8.21458786284288643e-2;
    s = s * u - 0.59926452881438341;
    s = s * u + 2.5501640398618437;
    s = s * u - 5.1677127800498006;
    return s * u + PHYS_PI;
#endif
}

/* Returns -2 times the derivative of phys_sinpi_over() by u. The relative error of the
 * fit is 2e-17; in float it is 2.4e-7, as large as the rounding of a derivative computed
 * from it. The derivative of sin(pi t) by t is phys_sinpi_over(u) - u times this. */
PHYS_FN real phys_sinpi_over_slope(real u)
{
#ifdef PHYS_SINGLE
    real s = -0.6207409537f;

    s = s * u + 3.589825393f;
    s = s * u - 10.20036008f;
    return s * u + 10.33542313f;
#else
    real s = -1.2313426736403656962e-5;

    s = s * u + 3.0664780597361825287e-4;
    s = s * u - 5.5955980303038148362e-3;
    s = s * u + 7.3704305234941060743e-2;
    s = s * u - 0.65716709261657855093;
    s = s * u + 3.5955871759160880946;
    s = s * u - 10.200656159509276308;
    return s * u + 10.335425560099939847;
#endif
}

/* Returns sin(pi t), |t| <= 1/2. */
PHYS_FN real phys_sinpi_core(real t)
{
    return t * phys_sinpi_over(t * t);
}

/* Returns the nearest integer, with halves rounded down, as nanoBragg rounds Miller
 * indices. */
PHYS_FN real phys_nearest(real x)
{
    return ceil(x - (real)0.5);
}

/* Returns -1 for odd integers and 1 for even ones; k is an integer held in a real. */
PHYS_FN real phys_parity(real k)
{
    return 1 - 2 * fabs(k - 2 * floor(k / 2));
}

PHYS_FN real phys_sinpi(real x)
{
    const real m = phys_nearest(x);
    return phys_parity(m) * phys_sinpi_core(x - m);
}

PHYS_FN real phys_cospi(real x)
{
    const real m = phys_nearest(x);
    return phys_parity(m) * phys_sinpi_core((real)0.5 - fabs(x - m));
}

/* Returns 2^n, a normal number; n is an integer held in a real. Adding 1.5 2^52 (in float
 * 1.5 2^23) leaves n in the low bits of the sum, and a shift makes it an exponent. */
PHYS_FN real phys_exp2_integer(real n)
{
#ifdef PHYS_SINGLE
    const float shifted = n + 12582912.0f;
    int bits;
#else
    const double shifted = n + 6755399441055744.0;
    long long bits;
#endif
    real power;

    memcpy(&bits, &shifted, sizeof bits);
#ifdef PHYS_SINGLE
    bits = (int)(((unsigned)bits + 127u) << 23);
#else
    bits = (long long)(((unsigned long long)bits + 1023u) << 52);
#endif
    memcpy(&power, &bits, sizeof power);
    return power;
}

/* Returns e^x, which must be a normal number. */
PHYS_FN real phys_exp_within(real x)
{
    const real n = floor(x * (real)1.44269504088896341 + (real)0.5);
    const real t = (x - n * (real)0.693145751953125) - n * (real)1.42860682030941723e-6;
#ifdef PHYS_SINGLE
    real s = 1.406124e-3f;

    s = s * t + 8.37901116e-3f;
    s = s * t + 4.16647773e-2f;
    s = s * t + 0.1666636544f;
    s = s * t + 0.5000000434f;
    s = s * t + 1.00000005f;
#else
    real s = 2.499428843220305e-8;

    s = s * t + 2.76322931543631815e-7;
    s = s * t + 2.7557622582577962e-6;
    s = s * t + 2.48014865218002723e-5;
    s = s * t + 1.98412694326203886e-4;
    s = s * t + 1.38888889512235892e-3;
    s = s * t + 8.33333333355930076e-3;
    s = s * t + 4.16666666664927692e-2;
    s = s * t + 0.166666666666661686;
    s = s * t + 0.500000000000001769;
    s = s * t + 1.0;
#endif
    s = s * t + 1;
    return s * phys_exp2_integer(n);
}

/* Returns e^x, or 0 if the square of e^x is below the normal numbers: callers square the
 * result, and subnormal numbers are slow. Above x = 80, which only a negative B factor
 * reaches, it returns e^80, which both precisions can represent. */
PHYS_FN real phys_exp(real x)
{
#ifdef PHYS_SINGLE
    const real lowest = -43;
#else
    const real lowest = -354;
#endif
    const real capped = x < 80 ? x : 80;
    const real within = phys_exp_within(capped > lowest ? capped : lowest);

    return x < lowest ? 0 : within;
}

/* Returns 1 - e^-x without cancellation. For |x| < 1/4 it sums the series up to x^12, whose
 * remainder is 1e-17 of the sum. */
PHYS_FN real phys_fall(real x)
{
    const real closed = 1 - phys_exp(-x);
    real s = 1 - x * ((real)1 / 12);

    s = 1 - x * ((real)1 / 11) * s;
    s = 1 - x * ((real)1 / 10) * s;
    s = 1 - x * ((real)1 / 9) * s;
    s = 1 - x * ((real)1 / 8) * s;
    s = 1 - x * ((real)1 / 7) * s;
    s = 1 - x * ((real)1 / 6) * s;
    s = 1 - x * ((real)1 / 5) * s;
    s = 1 - x * ((real)1 / 4) * s;
    s = 1 - x * ((real)1 / 3) * s;
    s = 1 - x * ((real)1 / 2) * s;
    return fabs(x) < (real)0.25 ? x * s : closed;
}

#endif
