/*
 * precise.h - exp, log and cos in double for results that must have the same bits on every
 * CPU and GPU. The functions use only sums, products, one quotient and integer operations
 * on bits. All compilers round these alike if they do not fuse products and sums. The
 * errors are at most 1.5 units in the last place (the case `precise` of
 * tests/physics/test_noise_draws.c). The coefficients are near-minimax fits, each of the
 * lowest degree whose error is below the rounding of the evaluation.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_NOISE_PRECISE_H
#define NB_PHYSICS_NOISE_PRECISE_H

#include "physics/phys.h"

/* ln 2 in two parts; the first has so few bits that its product with an exponent is
 * exact. */
#define PHYS_LN2_HIGH 0x1.62e42fefa0000p-1
#define PHYS_LN2_LOW  1.6465949582897082e-12

PHYS_FN unsigned long long phys_bits(double x)
{
    unsigned long long bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

PHYS_FN double phys_from_bits(unsigned long long bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Returns e^x, |x| <= 700. */
PHYS_FN double phys_precise_exp(double x)
{
    /* adding 1.5 2^52 rounds to an integer n and leaves it in the low bits of the sum */
    const double shifted = x * 1.4426950408889634 + 6755399441055744.0;
    const double n = shifted - 6755399441055744.0;
    const double high = x - n * PHYS_LN2_HIGH, low = n * PHYS_LN2_LOW;
    const double t = high - low, u = t * t, v = u * u, w = v * v;
    /* p is (e^t - 1 - t)/t^2, |t| <= ln(2)/2; error of the fit 1.4e-18 */
    const double p0 = 0.5 + t * 0.1666666666666667;
    const double p2 = 4.166666666666667e-2 + t * 8.333333333326136e-3;
    const double p4 = 1.3888888888883748e-3 + t * 1.9841269874820627e-4;
    const double p6 = 2.4801587325547743e-5 + t * 2.7557255400206422e-6;
    const double p8 =
        2.75572736431103e-7 + t * 2.5105217004720745e-8 + u * 2.0914686968086876e-9;
    const double p = (p0 + u * p2) + v * (p4 + u * p6) + w * p8;

    return (1 + (high + (u * p - low))) * phys_from_bits((phys_bits(shifted) + 1023) << 52);
}

/* Returns ln x of a normal number x > 0. */
PHYS_FN double phys_precise_log(double x)
{
    /* x = 2^n (1 + f), 1 + f between sqrt(1/2) and sqrt(2) */
    const unsigned long long bits = phys_bits(x), root = 0x3fe6a09e667f3bcdULL;
    const int n = (int)((bits - root + (1024ULL << 52)) >> 52) - 1024;
    const double f = phys_from_bits(bits - ((unsigned long long)n << 52)) - 1;
    const double half = 0.5 * f * f, s = f / (2 + f), u = s * s, v = u * u;
    /* even + u odd is (2 artanh(s)/s - 2)/s^2 for s^2 <= 0.0295; the fit's error is 3e-16,
     * and the result multiplies it by s^3 */
    double even = 0.14616585424888623, odd = 0.15331710618210773;

    even = even * v + 0.18182889455674947;
    odd = odd * v + 0.22222211130259878;
    even = even * v + 0.2857142862600327;
    odd = odd * v + 0.39999999999899444;
    even = even * v + 0.666666666666667;
    /* ln(1 + f) = 2 artanh(s), 2 s = f - f^2/2 + s f^2/2 */
    return n * PHYS_LN2_HIGH
           + (f + ((s * (half + u * (even + u * odd)) + n * PHYS_LN2_LOW) - half));
}

/* Returns cos(2 pi v); v is a multiple of 2^-54, 0 <= v <= 1. It is sin(pi t) with t = 2 |v
 * - 1/2| - 1/2, which is exact. For |t| > 5/16 this form loses digits, and the result is
 * +-(1 - 2 sin^2(pi (1/2 - |t|)/2)) with the sign of t. */
PHYS_FN double phys_precise_cos_turn(double v)
{
    const double t = 2 * fabs(v - 0.5) - 0.5, size = fabs(t);
    const double a = size > 0.3125 ? 0.25 - 0.5 * size : t, u = a * a;
    /* s is sin(pi a)/a - 2; error of the fit 7e-19 */
    double s = 7.697826768224191e-7;

    s = s * u - 2.1903497074626018e-5;
    s = s * u + 4.662998161898394e-4;
    s = s * u - 7.370430505916944e-3;
    s = s * u + 8.21458865731029e-2;
    s = s * u - 0.5992645293189447;
    s = s * u + 2.5501640398773007;
    s = s * u - 5.167712780049969;
    s = s * u + 1.1415926535897933;
    s = 2 * a + a * s;
    return size > 0.3125 ? copysign(1 - 2 * s * s, t) : s;
}

#endif
