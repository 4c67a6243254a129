/*
 * form_make.c - makes a form from a reflection and covariances. Matrices of six numbers are
 * symmetric. X is the matrix of the cross product with q0, X t = q0 x t, so that X^T = -X.
 *
 * mix(A, B) is the symmetric bilinear map with mix(A, A) = 2 adj(A). The trilinear form
 * tr(mix(A, B) C) has the same value for every order of A, B and C.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/continuous/forms/form_make.h"

#include <string.h>

#include "kernels/continuous/forms/form_tangent.h"

/* A general matrix, row after row. */
typedef double matrix[9];

static void widen(const double s[6], matrix m)
{
    m[0] = s[0], m[4] = s[1], m[8] = s[2];
    m[1] = m[3] = s[3];
    m[2] = m[6] = s[4];
    m[5] = m[7] = s[5];
}

/* Writes the symmetric part of m. */
static void narrow(const matrix m, double s[6])
{
    s[0] = m[0], s[1] = m[4], s[2] = m[8];
    s[3] = 0.5 * (m[1] + m[3]);
    s[4] = 0.5 * (m[2] + m[6]);
    s[5] = 0.5 * (m[5] + m[7]);
}

/* The cotangent of a symmetric matrix has six numbers; each of the last three is the
 * derivative by two equal elements at once. widen_bar() converts these numbers to the
 * matrix of derivatives by single elements; add_bar() adds such a matrix to the numbers. */
static void widen_bar(const double s[6], matrix m)
{
    const double half[6] = {s[0], s[1], s[2], 0.5 * s[3], 0.5 * s[4], 0.5 * s[5]};

    widen(half, m);
}

static void add_bar(double scale, const matrix m, double s[6])
{
    s[0] += scale * m[0], s[1] += scale * m[4], s[2] += scale * m[8];
    s[3] += scale * (m[1] + m[3]);
    s[4] += scale * (m[2] + m[6]);
    s[5] += scale * (m[5] + m[7]);
}

static void times(const matrix a, const matrix b, matrix out)
{
    matrix c;

    for (size_t i = 0; i < 9; i += 3)
        for (size_t j = 0; j < 3; j++)
            c[i + j] = a[i] * b[j] + a[i + 1] * b[3 + j] + a[i + 2] * b[6 + j];
    memcpy(out, c, sizeof c);
}

/* Writes a b c. */
static void product(const matrix a, const matrix b, const matrix c, matrix out)
{
    matrix ab;

    times(a, b, ab);
    times(ab, c, out);
}

static void add(double scale, const matrix a, matrix to)
{
    for (int i = 0; i < 9; i++) to[i] += scale * a[i];
}

static void cross_of(const double q[3], matrix x)
{
    const matrix m = {0, -q[2], q[1], q[2], 0, -q[0], -q[1], q[0], 0};

    memcpy(x, m, sizeof m);
}

static void mix(const matrix a, const matrix b, matrix out)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int r = (i + 1) % 3, s = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;

            out[3 * i + j] = a[3 * r + c] * b[3 * s + d] + a[3 * s + d] * b[3 * r + c]
                             - a[3 * r + d] * b[3 * s + c] - a[3 * s + c] * b[3 * r + d];
        }
}

double form_inverse(const double m[6], double out[6])
{
    const double a = m[1] * m[2] - m[5] * m[5], b = m[4] * m[5] - m[3] * m[2],
                 c = m[3] * m[5] - m[1] * m[4];
    const double det = m[0] * a + m[3] * b + m[4] * c, per = 1 / det;

    out[0] = a * per, out[3] = b * per, out[4] = c * per;
    out[1] = (m[0] * m[2] - m[4] * m[4]) * per;
    out[2] = (m[0] * m[1] - m[3] * m[3]) * per;
    out[5] = (m[3] * m[4] - m[0] * m[5]) * per;
    return det;
}

static double quadratic(const double m[6], const double a[3])
{
    return form_dot(form_load(a), form_times(m, form_load(a)));
}

/* The matrices from which the members of a form follow; names as in struct form. */
struct form_matrices {
    matrix x, s, ci, k, sig, w, d, b; /* d = X C^-1 X, b = 1 + S d, w = mix(sig, K) */
    double q0[3], h, along; /* h = q0 w q0, along = n sig n */
};

/* Returns a m a for a symmetric matrix m, given row after row. */
static double square_of(const matrix m, const double a[3])
{
    double sum = 0;

    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) sum += m[3 * i + j] * a[i] * a[j];
    return sum;
}

/* Finds h and along, the two factors of the fourth-order term of log I at the
 * reflection. */
static void find_fourth(const struct form *form, struct form_matrices *p)
{
    mix(p->sig, p->k, p->w);
    p->h = square_of(p->w, p->q0);
    p->along = quadratic(form->sig, form->n);
}

static void parts_of(const struct form_of *of, const struct form *form,
                     struct form_matrices *p)
{
    for (int i = 0; i < 3; i++) p->q0[i] = form->q * form->n[i];
    cross_of(p->q0, p->x);
    widen(of->spread, p->s);
    widen(form->ci, p->ci);
    widen(form->k, p->k);
    widen(form->sig, p->sig);
    product(p->x, p->ci, p->x, p->d);
    times(p->s, p->d, p->b);
    for (int i = 0; i < 9; i += 4) p->b[i] += 1;
    find_fourth(form, p);
}

/* Writes beta and m. The density of the rotations has a Hessian, which changes along t, to
 * second order, by P = (X_t S^-1 - S^-1 X_t)/2 - X_t S^-1 X_t/4 and more, where X_t is the
 * matrix of the cross product with t. The change of log det is tr(sig P) less tr(sig P sig
 * P)/2, the latter with the first order of P. Both terms grow without bound if S has no
 * inverse; their difference does not, because S^-1 sig S^-1 = S^-1 + d. */
static void prior_along(const struct form_matrices *p, struct form *out)
{
    const double trace = (p->b[0] + p->b[4] + p->b[8]) * (1. / 6);
    double b[6], twice[6], d[6], mixed[6];

    out->beta[0] = p->b[5] - p->b[7];
    out->beta[1] = p->b[6] - p->b[2];
    out->beta[2] = p->b[1] - p->b[3];
    narrow(p->b, b);
    narrow(p->d, d);
    form_mix(b, b, twice);
    form_mix(d, out->sig, mixed);
    form_symmetric(-0.125, form_load(out->beta), form_load(out->beta), out->m);
    for (int i = 0; i < 6; i++)
        out->m[i] += 0.25 * (twice[i] - mixed[i]) + b[i] * (1. / 3) - (i < 3 ? trace : 0);
}

void form_make(const struct form_of *of, struct form *out)
{
    const double q2 = form_dot(form_load(of->q0), form_load(of->q0)), q = sqrt(q2);
    double c[6], det_c, det_b;
    matrix x, s, m, sds;
    struct form_matrices p;

    memset(out, 0, sizeof *out);
    out->q = q;
    for (int i = 0; i < 3; i++) out->n[i] = q > 0 ? of->q0[i] / q : 0;
    memcpy(out->s, of->spread, sizeof out->s);
    out->b = of->b;
    /* C = Cb - X S X */
    cross_of(of->q0, x);
    widen(of->spread, s);
    product(x, s, x, m);
    narrow(m, c);
    for (int i = 0; i < 6; i++) c[i] = of->block[i] - c[i];
    det_c = form_inverse(c, out->ci);
    det_b = form_inverse(of->block, out->k);
    parts_of(of, out, &p);
    product(p.s, p.d, p.s, sds);
    add(1, p.s, sds);
    narrow(sds, out->sig);
    widen(out->sig, p.sig);
    prior_along(&p, out);
    find_fourth(out, &p);
    out->norm = of->height + 0.5 * log(det_b / det_c) + p.h * p.along * (1. / 24);
}

/* Given m, the cotangent of X, adds `scale` times the resulting cotangent to q0. */
static void add_cross(double scale, const matrix m, double *q0)
{
    q0[0] += scale * (m[7] - m[5]);
    q0[1] += scale * (m[2] - m[6]);
    q0[2] += scale * (m[3] - m[1]);
}

/* The cotangents of matrices: the derivatives by each of the nine elements. */
struct parts_bar {
    matrix sig, ci, s, b, d, x;
};

/* Propagates the cotangents of beta and m to the cotangents of b, d and sig. */
static void prior_adjoint(const struct form *form, const struct form *bar,
                          const struct form_matrices *p, struct parts_bar *to)
{
    matrix m, b, more;
    double trace;

    widen_bar(bar->m, m);
    mix(m, p->d, more);
    add(-0.25, more, to->sig);
    mix(m, p->sig, more);
    add(-0.25, more, to->d);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            b[3 * i + j] = 0.5 * (p->b[3 * i + j] + p->b[3 * j + i]);
    mix(m, b, more);
    trace = m[0] + m[4] + m[8];
    for (int i = 0; i < 9; i++)
        to->b[i] = 0.5 * more[i] + m[i] * (1. / 3) - (i % 4 == 0 ? trace * (1. / 6) : 0);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        const double *row = m + (size_t)3 * (size_t)i;
        const double slope =
            bar->beta[i] - 0.25 * form_dot(form_load(row), form_load(form->beta));

        to->b[3 * j + k] += slope, to->b[3 * k + j] -= slope;
    }
}

/* Propagates the cotangents of b and sig to the cotangents of S, C^-1 and X. */
static void sig_adjoint(const struct form_matrices *p, struct parts_bar *to)
{
    matrix m, more;

    /* back through b = 1 + S d */
    times(to->b, p->d, m);
    add(1, m, to->s);
    times(p->s, to->b, m);
    add(1, m, to->d);
    /* back through sig = S + S d S */
    add(1, to->sig, to->s);
    product(to->sig, p->s, p->d, m);
    add(1, m, to->s);
    product(p->d, p->s, to->sig, m);
    add(1, m, to->s);
    product(p->s, to->sig, p->s, m);
    add(1, m, to->d);
    /* back through d = X C^-1 X */
    product(p->x, to->d, p->x, m);
    add(1, m, to->ci);
    product(to->d, p->x, p->ci, m);
    product(p->ci, p->x, to->d, more);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) to->x[3 * i + j] = -m[3 * i + j] - more[3 * i + j];
}

void form_make_adjoint(const struct form_of *of, const struct form *form,
                       const struct form *bar, struct form_of *to)
{
    struct parts_bar b = {0};
    matrix m, w_bar, k_bar, c_bar;
    struct form_matrices p;
    double q0[3] = {0}, n[3], inward = 0, h2, along_bar;

    parts_of(of, form, &p);
    h2 = bar->norm * p.along * (1. / 24);
    along_bar = bar->norm * p.h * (1. / 24);
    widen_bar(bar->sig, b.sig);
    widen_bar(bar->ci, b.ci);
    widen_bar(bar->s, b.s);
    widen_bar(bar->k, k_bar);
    for (int i = 0; i < 3; i++) {
        const double *s = form->sig, *row = p.w + (size_t)3 * (size_t)i;
        const struct form_vector sn = form_times(s, form_load(form->n));
        const double sni = i == 0 ? sn.x : i == 1 ? sn.y : sn.z;

        q0[i] = 2 * h2 * form_dot(form_load(row), form_load(p.q0));
        n[i] = bar->n[i] + 2 * along_bar * sni;
        for (int j = 0; j < 3; j++) {
            w_bar[3 * i + j] = h2 * p.q0[i] * p.q0[j];
            b.sig[3 * i + j] += along_bar * form->n[i] * form->n[j];
        }
    }
    mix(w_bar, p.k, m);
    add(1, m, b.sig);
    mix(w_bar, p.sig, m);
    add(1, m, k_bar);
    prior_adjoint(form, bar, &p, &b);
    sig_adjoint(&p, &b);
    /* back through C = Cb - X S X */
    product(p.ci, b.ci, p.ci, c_bar);
    for (int i = 0; i < 9; i++) c_bar[i] = -c_bar[i] - 0.5 * bar->norm * p.ci[i];
    add_bar(1, c_bar, to->block);
    product(p.x, c_bar, p.x, m);
    add(-1, m, b.s);
    product(c_bar, p.x, p.s, m);
    add(1, m, b.x);
    product(p.s, p.x, c_bar, m);
    add(1, m, b.x);
    /* back through K = Cb^-1, and through log det Cb */
    product(p.k, k_bar, p.k, m);
    add_bar(-1, m, to->block);
    add_bar(0.5 * bar->norm, p.k, to->block);
    add_bar(1, b.s, to->spread);
    add_cross(1, b.x, to->q0);
    for (int i = 0; i < 3; i++) inward += n[i] * form->n[i];
    for (int i = 0; i < 3 && form->q > 0; i++)
        to->q0[i] += q0[i] + bar->q * form->n[i] + (n[i] - inward * form->n[i]) / form->q;
    to->height += bar->norm;
    to->b += bar->b;
}

/* ---- the tangent ---- */

void form_make_known(const struct form_of *of, const struct form *form,
                     struct form_known *out)
{
    matrix b;
    double m[6];

    out->q = form->q;
    memcpy(out->n, form->n, sizeof out->n);
    memcpy(out->s, of->spread, sizeof out->s);
    memcpy(out->ci, form->ci, sizeof out->ci);
    memcpy(out->k, form->k, sizeof out->k);
    memcpy(out->sig, form->sig, sizeof out->sig);
    form_give(form_scale(form->q, form_load(form->n)), out->q0);
    form_symmetric(1, form_load(out->q0), form_load(out->q0), out->pairs);
    form_mix(form->ci, out->pairs, m);
    for (int i = 0; i < 6; i++) out->d[i] = -m[i];
    form_product(out->d, out->s, out->ds);
    form_product(out->s, out->d, b);
    narrow(b, out->b);
    for (int i = 0; i < 3; i++) out->b[i] += 1;
    memcpy(out->beta, form->beta, sizeof out->beta);
    form_mix(form->sig, form->k, out->w);
    form_give(form_times(out->w, form_load(out->q0)), out->wq);
    form_give(form_times(form->sig, form_load(form->n)), out->sn);
    out->h = form_dot(form_load(out->q0), form_load(out->wq));
    out->along = form_dot(form_load(form->n), form_load(out->sn));
}

void form_make_tangent(const struct form_of *of, const struct form *form,
                       const struct form_of *dot, struct form *out)
{
    struct form_known known;

    form_make_known(of, form, &known);
    *out = form_tangent(&known, form->q > 0 ? 1 / form->q : 0, *dot);
}
