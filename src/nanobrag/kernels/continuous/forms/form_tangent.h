/*
 * form_tangent.h - the change of a form along a change of the numbers from which it is
 * made. It is plain arithmetic of matrices of six numbers, so that a loop over changes can
 * be vectorised. The names are, with Q = q0 q0^T,
 *
 *     C = Cb + mix(S, Q),   d = X C^-1 X = -mix(C^-1, Q),   b = 1 + S d,
 *     sig = S + S d S,   w = mix(sig, K),   beta the axis of b^T - b,
 *     m = (mix(sym(b), sym(b)) - mix(d, sig))/4 - beta beta^T/8 + sym(b)/3 - tr(b)/6.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_FORM_TANGENT_H
#define NB_KERNELS_CONTINUOUS_FORM_TANGENT_H

#include "kernels/continuous/forms/form_make.h"

/* The numbers of a form that form_tangent() needs for every change. */
struct form_known {
    double q, n[3], q0[3], pairs[6]; /* pairs: Q */
    double s[6], ci[6], k[6], sig[6], beta[3];
    double d[6], ds[9], b[6]; /* ds: d S; b: symmetric part of b */
    double wq[3], sn[3], w[6], h, along; /* w q0; sig n; w; q0 w q0; n sig n */
};

/* Writes scale a m a for symmetric matrices. */
FORM_FN void form_congruent(double scale, const double *a, const double *m, double *to)
{
    double ma[9];

    form_product(m, a, ma);
    form_before(a, ma, to);
    for (int i = 0; i < 6; i++) to[i] *= scale;
}

/* Writes the change of an inverse matrix, such as C^-1, given the change `dot` of the
 * matrix: -inverse dot inverse. */
FORM_FN void form_change_inverse(const double *inverse, const double *dot, double *to)
{
    form_congruent(-1, inverse, dot, to);
}

/* Returns the sum of the products of all elements of two symmetric matrices. */
FORM_FN double form_inner(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
           + 2 * (a[3] * b[3] + a[4] * b[4] + a[5] * b[5]);
}

/* Writes mix(da, b) + mix(a, db). */
FORM_FN void form_change_mix(const double *a, const double *da, const double *b,
                             const double *db, double *to)
{
    double other[6];

    form_mix(da, b, to);
    form_mix(a, db, other);
    for (int i = 0; i < 6; i++) to[i] += other[i];
}

/* Writes the changes of sig, beta and m, given the changes ds of S and dd of d. */
FORM_FN void form_prior_tangent(const struct form_known *p, const double *ds,
                                const double *dd, struct form *out)
{
    double one[9], other[9], b[6], twice[6], mixed[6], beta[6], trace;

    /* sig = S + S d S; b = 1 + S d */
    form_congruent(1, p->s, dd, out->sig);
    form_product(p->s, dd, other);
    one[0] = ds[0] * p->ds[0] + ds[3] * p->ds[3] + ds[4] * p->ds[6];
    one[1] = ds[0] * p->ds[1] + ds[3] * p->ds[4] + ds[4] * p->ds[7];
    one[2] = ds[0] * p->ds[2] + ds[3] * p->ds[5] + ds[4] * p->ds[8];
    one[3] = ds[3] * p->ds[0] + ds[1] * p->ds[3] + ds[5] * p->ds[6];
    one[4] = ds[3] * p->ds[1] + ds[1] * p->ds[4] + ds[5] * p->ds[7];
    one[5] = ds[3] * p->ds[2] + ds[1] * p->ds[5] + ds[5] * p->ds[8];
    one[6] = ds[4] * p->ds[0] + ds[5] * p->ds[3] + ds[2] * p->ds[6];
    one[7] = ds[4] * p->ds[1] + ds[5] * p->ds[4] + ds[2] * p->ds[7];
    one[8] = ds[4] * p->ds[2] + ds[5] * p->ds[5] + ds[2] * p->ds[8];
    out->sig[0] += ds[0] + 2 * one[0];
    out->sig[1] += ds[1] + 2 * one[4];
    out->sig[2] += ds[2] + 2 * one[8];
    out->sig[3] += ds[3] + one[1] + one[3];
    out->sig[4] += ds[4] + one[2] + one[6];
    out->sig[5] += ds[5] + one[5] + one[7];
    form_product(ds, p->d, one);
    for (int i = 0; i < 9; i++) one[i] += other[i];
    out->beta[0] = one[5] - one[7];
    out->beta[1] = one[6] - one[2];
    out->beta[2] = one[1] - one[3];
    b[0] = one[0], b[1] = one[4], b[2] = one[8];
    b[3] = 0.5 * (one[1] + one[3]);
    b[4] = 0.5 * (one[2] + one[6]);
    b[5] = 0.5 * (one[5] + one[7]);
    trace = (one[0] + one[4] + one[8]) * (1. / 6);
    form_mix(p->b, b, twice);
    form_change_mix(p->d, dd, p->sig, out->sig, mixed);
    form_symmetric(-0.25, form_load(p->beta), form_load(out->beta), beta);
    for (int i = 0; i < 6; i++)
        out->m[i] = 0.5 * twice[i] - 0.25 * mixed[i] + beta[i] + b[i] * (1. / 3)
                    - (i < 3 ? trace : 0);
}

/* Returns the change of the form; `per_q` is 1/q, or 0 for the reflection 000. Structs are
 * passed by value, because gcc does not vectorise a loop that passes addresses of its own
 * variables. */
FORM_FN struct form form_tangent(const struct form_known *p, double per_q,
                                 struct form_of dot)
{
    struct form out;
    const struct form_vector n = form_load(p->n), q0 = form_load(p->q0);
    const struct form_vector dq = form_load(dot.q0), wq = form_load(p->wq);
    const struct form_vector sn = form_load(p->sn);
    struct form_vector dn;
    double dpairs[6], dc[6], dd[6], dw[6], h, along;

    out.q = form_dot(dq, n);
    dn = form_scale(per_q, form_axpy(-out.q, n, dq));
    form_give(dn, out.n);
    out.b = dot.b;
    for (int i = 0; i < 6; i++) out.s[i] = dot.spread[i];
    form_symmetric(2, q0, dq, dpairs);
    form_change_mix(p->s, dot.spread, p->pairs, dpairs, dc);
    for (int i = 0; i < 6; i++) dc[i] += dot.block[i];
    form_change_inverse(p->ci, dc, out.ci);
    form_change_inverse(p->k, dot.block, out.k);
    form_change_mix(p->ci, out.ci, p->pairs, dpairs, dd);
    for (int i = 0; i < 6; i++) dd[i] = -dd[i];
    form_prior_tangent(p, dot.spread, dd, &out);
    form_change_mix(p->sig, out.sig, p->k, out.k, dw);
    h = form_dot(q0, form_times(dw, q0)) + 2 * form_dot(dq, wq);
    along = form_dot(n, form_times(out.sig, n)) + 2 * form_dot(dn, sn);
    out.norm = dot.height + 0.5 * (form_inner(p->k, dot.block) - form_inner(p->ci, dc))
               + (h * p->along + p->h * along) * (1. / 24);
    return out;
}

#endif
