/*
 * samples_range.h - samples of PROFILE_RANGE: integrals over the range, from values at its
 * ends. The integrals are computed in steps, each over all samples. A step's chain of
 * operations is short, so that the processor overlaps many samples.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_SAMPLES_RANGE_H
#define NB_KERNELS_CONTINUOUS_SAMPLES_RANGE_H

#include "kernels/continuous/samples/samples_batch.h"

/* The numbers of one plane of a batch. [0] is the lower end of the range, [1] the upper. */
struct ranges {
    _Alignas(64) real x[2][SLOTS]; /* from the maximum to the end, in widths 1/sqrt(h) */
    _Alignas(64) real s[2][SLOTS]; /* (|x| - 4)/(|x| + 4) */
    _Alignas(64) real e[2][SLOTS]; /* exp(-x^2/2) */
    _Alignas(64) real from[2][SLOTS]; /* integral of exp(-x^2/2) from 0 to x */
    _Alignas(64) real bright[SLOTS]; /* exp(l) */
    _Alignas(64) real ir[SLOTS]; /* 1/sqrt(h) */
    _Alignas(64) real k3[SLOTS], k4[SLOTS]; /* c3 and c4 (samples.h) in units of widths */
};

/* Returns |x|, but at most 12, where exp(-x^2/2) is 5e-32. */
PHYS_FN real widths_from(real x)
{
    const real y = fabs(x);

    return y < 12 ? y : 12;
}

static void find_ranges(const struct form *form, const struct batch *batch, int j,
                        struct ranges *to)
{
    const struct form f = *form;
    const real plane = (real)j;
    const int n = batch->padded;

#pragma omp simd
    for (int i = 0; i < n; i++) {
        const real a = batch->a[i] + plane * batch->step[i], b = batch->b[i];
        const real m = quartic(f.c + SPOT_M, a, b);
        const real r = sqrt(curvature(f.c + SPOT_H, a, b));
        const real p = (f.below - m) * r, q = (f.above - m) * r;
        const real pp = widths_from(p), qq = widths_from(q);
        /* one division gives three quotients */
        const real fp = pp + 4, fq = qq + 4, pq = fp * fq, inverse = 1 / (r * pq);
        const real ir = inverse * pq, eight = 8 * r * inverse, ir3 = ir * ir * ir;

        to->x[0][i] = copysign(pp, p);
        to->x[1][i] = copysign(qq, q);
        to->s[0][i] = 1 - eight * fq;
        to->s[1][i] = 1 - eight * fp;
        to->ir[i] = ir;
        to->k3[i] = linear(f.c + SPOT_L3, a, b) * ir3;
        to->k4[i] = linear(f.c + SPOT_L4, a, b) * (ir3 * ir);
    }
#pragma omp simd
    for (int i = 0; i < n; i++)
        to->bright[i] = phys_exp(
            quartic(f.c + SPOT_L, batch->a[i] + plane * batch->step[i], batch->b[i]));
    for (int end = 0; end < 2; end++) {
        const real *restrict x = to->x[end], *restrict s = to->s[end];
        real *restrict e = to->e[end], *restrict from = to->from[end];

#pragma omp simd
        for (int i = 0; i < n; i++) e[i] = phys_exp_within(x[i] * x[i] * (real)-0.5);
#pragma omp simd
        for (int i = 0; i < n; i++)
            from[i] = copysign((real)1.2533141373155002512 - e[i] * mills(s[i]), x[i]);
    }
}

/* The integrals from which a sample and its slopes follow. In x = t sqrt(h), u(k) is the
 * integral of exp(-x^2/2) x^k over the range from p to q. By parts, u(k + 2) = p^(k+1)
 * exp(-p^2/2) - q^(k+1) exp(-q^2/2) + (k + 1) u(k). */
struct integrals {
    real u2, u3, u4, u6;
    real p, q, p2, q2, ep, eq, ep2, eq2, ep3, eq3;
    real k3, k33, k4;
    real value; /* the integral of the whole series */
};

PHYS_FN struct integrals integrals_of(const struct ranges *at, int i)
{
    struct integrals s;
    const real u0 = at->from[1][i] - at->from[0][i];

    s.p = at->x[0][i];
    s.q = at->x[1][i];
    s.ep = at->e[0][i];
    s.eq = at->e[1][i];
    s.p2 = s.p * s.p;
    s.q2 = s.q * s.q;
    s.ep2 = s.p2 * s.ep;
    s.eq2 = s.q2 * s.eq;
    s.ep3 = s.p * s.ep2;
    s.eq3 = s.q * s.eq2;
    s.u2 = s.p * s.ep - s.q * s.eq + u0;
    s.u3 = s.ep2 - s.eq2 + 2 * (s.ep - s.eq);
    s.u4 = s.ep3 - s.eq3 + 3 * s.u2;
    s.u6 = s.p2 * s.ep3 - s.q2 * s.eq3 + 5 * s.u4;
    s.k3 = at->k3[i];
    s.k33 = s.k3 * s.k3 * (real)0.5;
    s.k4 = at->k4[i];
    s.value = u0 + s.k3 * s.u3 + s.k33 * s.u6 + s.k4 * s.u4;
    return s;
}

/* Writes `weight` times the values and times their derivatives by the form's
 * polynomials. */
static void range_slopes(int n, const struct ranges *at, const real *restrict weight,
                         real (*restrict slope)[SLOTS])
{
#pragma omp simd
    for (int i = 0; i < n; i++) {
        const struct integrals s = integrals_of(at, i);
        const real u5 = s.p2 * s.ep2 - s.q2 * s.eq2 + 4 * s.u3;
        const real u8 = s.p2 * s.p2 * s.ep3 - s.q2 * s.q2 * s.eq3 + 7 * s.u6;
        const real at_p = s.ep + s.ep3 * (s.k3 + s.k33 * (s.p2 * s.p) + s.k4 * s.p);
        const real at_q = s.eq + s.eq3 * (s.k3 + s.k33 * (s.q2 * s.q) + s.k4 * s.q);
        const real ir = at->ir[i], ir2 = ir * ir;
        const real bright = weight[i] * at->bright[i];
        const real scale = bright * ir, scale3 = scale * ir2 * ir;

        slope[PART_L][i] = scale * s.value;
        slope[PART_M][i] = bright * (at_p - at_q);
        slope[PART_H][i] =
            scale * ir2 * (real)-0.5 * (s.u2 + s.k3 * u5 + s.k33 * u8 + s.k4 * s.u6);
        slope[PART_L3][i] = scale3 * (s.u3 + s.k3 * s.u6);
        slope[PART_L4][i] = scale3 * ir * s.u4;
        slope[PART_HALF][i] = bright * (at_p + at_q);
    }
}

#endif
