/*
 * form.h - the intensity of one reflection of a crystal of gaussian blocks whose rotations
 * are normally distributed, in closed form (docs/theory.md, 16).
 *
 * A block scatters exp(-g K g/2) at a distance g from its lattice point q0. Blocks are
 * rotated by vectors t of covariance S. At a scattering vector p the mean over t is
 *
 *     I(p) = < exp(-g K g/2) >,   g = R(t)^T p - q0.
 *
 * Laplace's method computes the mean. It is taken about the t that is most likely if g is
 * linear in t, with the Hessian at the reflection; the change of the Hessian enters to
 * second order. The error is below 1e-4 of the peak for isotropic spreads to 1 degree,
 * blocks of 300 A and more, and d to 30 A.
 *
 * A symmetric matrix has six numbers: xx yy zz xy xz yz.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_FORM_H
#define NB_KERNELS_CONTINUOUS_FORM_H

#include <math.h>

/* The numbers that all places of a reflection have in common. Every member is a double that
 * can change. X is the matrix of the cross product with q0: X t = q0 x t. */
struct form {
    double norm; /* log I at the reflection, less what form_at() adds there */
    double q, n[3]; /* length and direction of q0, 1/A; n is 0 for the reflection 000 */
    /* inverse of C, the covariance of the spot: C = K^-1 + widths + X S X^T */
    double ci[6];
    double s[6]; /* S */
    double k[6]; /* K, A^2 */
    double sig[6]; /* covariance of t at the reflection, S - S X^T C^-1 X S */
    /* log det of the Hessian grows along t by t.beta + t m t, from the density of the
     * rotations alone */
    double beta[3], m[6];
    double b; /* B of isotropic displacement, A^2 */
};

enum {
    FORM_NUMBERS = (int)(sizeof(struct form) / sizeof(double)),
    FORM_SLOPES = FORM_NUMBERS + 3 /* slopes by the place, and by the numbers */
};

#define FORM_FN static inline __attribute__((always_inline, unused))

struct form_vector {
    double x, y, z;
};

FORM_FN struct form_vector form_load(const double *a)
{
    const struct form_vector v = {a[0], a[1], a[2]};

    return v;
}

FORM_FN double form_dot(struct form_vector a, struct form_vector b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

FORM_FN struct form_vector form_cross(struct form_vector a, struct form_vector b)
{
    const struct form_vector v = {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z,
                                  a.x * b.y - a.y * b.x};

    return v;
}

/* Returns s a + b. */
FORM_FN struct form_vector form_axpy(double s, struct form_vector a, struct form_vector b)
{
    const struct form_vector v = {s * a.x + b.x, s * a.y + b.y, s * a.z + b.z};

    return v;
}

FORM_FN struct form_vector form_scale(double s, struct form_vector a)
{
    const struct form_vector v = {s * a.x, s * a.y, s * a.z};

    return v;
}

/* Returns m a for a symmetric matrix m. */
FORM_FN struct form_vector form_times(const double *m, struct form_vector a)
{
    const struct form_vector v = {m[0] * a.x + m[3] * a.y + m[4] * a.z,
                                  m[3] * a.x + m[1] * a.y + m[5] * a.z,
                                  m[4] * a.x + m[5] * a.y + m[2] * a.z};

    return v;
}

/* Writes s (a b^T + b a^T)/2. */
FORM_FN void form_symmetric(double s, struct form_vector a, struct form_vector b, double *m)
{
    m[0] = s * a.x * b.x, m[1] = s * a.y * b.y, m[2] = s * a.z * b.z;
    m[3] = 0.5 * s * (a.x * b.y + a.y * b.x);
    m[4] = 0.5 * s * (a.x * b.z + a.z * b.x);
    m[5] = 0.5 * s * (a.y * b.z + a.z * b.y);
}

/* Writes mix(a, b), the bilinear map of symmetric matrices with mix(a, a) = 2 adj(a). With
 * [p] the matrix of the cross product with p, [p]^T K [p] = mix(K, p p^T). */
FORM_FN void form_mix(const double *a, const double *b, double *m)
{
    m[0] = a[1] * b[2] + a[2] * b[1] - 2 * a[5] * b[5];
    m[1] = a[0] * b[2] + a[2] * b[0] - 2 * a[4] * b[4];
    m[2] = a[0] * b[1] + a[1] * b[0] - 2 * a[3] * b[3];
    m[3] = a[4] * b[5] + a[5] * b[4] - a[3] * b[2] - a[2] * b[3];
    m[4] = a[3] * b[5] + a[5] * b[3] - a[4] * b[1] - a[1] * b[4];
    m[5] = a[3] * b[4] + a[4] * b[3] - a[5] * b[0] - a[0] * b[5];
}

/* Writes the product of two symmetric matrices, row after row. */
FORM_FN void form_product(const double *a, const double *b, double *m)
{
    m[0] = a[0] * b[0] + a[3] * b[3] + a[4] * b[4];
    m[1] = a[0] * b[3] + a[3] * b[1] + a[4] * b[5];
    m[2] = a[0] * b[4] + a[3] * b[5] + a[4] * b[2];
    m[3] = a[3] * b[0] + a[1] * b[3] + a[5] * b[4];
    m[4] = a[3] * b[3] + a[1] * b[1] + a[5] * b[5];
    m[5] = a[3] * b[4] + a[1] * b[5] + a[5] * b[2];
    m[6] = a[4] * b[0] + a[5] * b[3] + a[2] * b[4];
    m[7] = a[4] * b[3] + a[5] * b[1] + a[2] * b[5];
    m[8] = a[4] * b[4] + a[5] * b[5] + a[2] * b[2];
}

/* form_before() writes a m, form_after() m a. Here a is symmetric, and m is a product that
 * begins or ends with a, so that the result is symmetric, too. */
FORM_FN void form_before(const double *a, const double *m, double *to)
{
    to[0] = a[0] * m[0] + a[3] * m[3] + a[4] * m[6];
    to[1] = a[3] * m[1] + a[1] * m[4] + a[5] * m[7];
    to[2] = a[4] * m[2] + a[5] * m[5] + a[2] * m[8];
    to[3] = a[0] * m[1] + a[3] * m[4] + a[4] * m[7];
    to[4] = a[0] * m[2] + a[3] * m[5] + a[4] * m[8];
    to[5] = a[3] * m[2] + a[1] * m[5] + a[5] * m[8];
}

FORM_FN void form_after(const double *a, const double *m, double *to)
{
    to[0] = m[0] * a[0] + m[1] * a[3] + m[2] * a[4];
    to[1] = m[3] * a[3] + m[4] * a[1] + m[5] * a[5];
    to[2] = m[6] * a[4] + m[7] * a[5] + m[8] * a[2];
    to[3] = m[0] * a[3] + m[1] * a[1] + m[2] * a[5];
    to[4] = m[0] * a[4] + m[1] * a[5] + m[2] * a[2];
    to[5] = m[3] * a[4] + m[4] * a[5] + m[5] * a[2];
}

/* The intermediate results of log I at the place q0 + d, from which its slopes follow. */
struct form_steps {
    struct form_vector d, perp, v, y, w, t; /* computed in this order */
    struct form_vector c, e, g, p, u, gradient, move;
    double off, along, p2, length, v2, rho2, arc, tt, s1, s2, wt, trace, log;
    /* pairs: p p^T - q0 q0^T; change: change of the Hessian; times: `change` times sig */
    double pairs[6], change[6], times[9];
};

/* Computes log I at the place q0 + d. */
FORM_FN struct form_steps form_at(const struct form *f, struct form_vector d)
{
    const struct form_vector n = form_load(f->n), q0 = form_scale(f->q, n);
    struct form_steps s;
    double bent, prior, mixed[6], up, square;

    /* the displacement v, from arcs on the sphere of radius |p| and from |p| - q */
    s.d = d;
    s.along = form_dot(d, n);
    s.perp = form_axpy(-s.along, n, d);
    s.off = form_dot(d, d) + 2 * f->q * s.along;
    s.p2 = f->q * f->q + s.off;
    s.length = sqrt(s.p2);
    s.v2 = s.off / (s.length + f->q + 1e-300);
    s.rho2 = form_dot(s.perp, s.perp);
    bent = s.rho2 / (s.p2 + 1e-300);
    s.arc = 1 + bent * (1. / 6 + bent * (3. / 40));
    s.v = form_axpy(s.v2, n, form_scale(s.arc, s.perp));
    /* the mean t of the rotations, and g, the part of d that a rotation by t leaves */
    s.y = form_times(f->ci, s.v);
    s.w = form_scale(f->q, form_cross(n, s.y));
    s.t = form_times(f->s, s.w);
    s.tt = form_dot(s.t, s.t);
    s.s1 = 1 - s.tt * (1. / 6 - s.tt * (1. / 120));
    s.s2 = 0.5 - s.tt * (1. / 24);
    s.c = form_cross(s.t, form_axpy(1, q0, d));
    s.e = form_cross(s.t, s.c);
    s.g = form_axpy(s.s2, s.e, form_axpy(-s.s1, s.c, d));
    s.p = form_axpy(1, q0, s.g);
    /* one step of Newton's method from t, and the change of the Hessian */
    s.u = form_times(f->k, s.g);
    s.gradient =
        form_axpy(-1, form_cross(s.p, s.u), form_axpy(0.5, form_cross(s.w, s.t), s.w));
    s.move = form_times(f->sig, s.gradient);
    s.wt = form_dot(s.w, s.t);
    s.trace = f->sig[0] + f->sig[1] + f->sig[2];
    prior = form_dot(s.t, form_axpy(1, form_times(f->m, s.t), form_load(f->beta)))
            - s.wt * s.trace * (1. / 6);
    form_symmetric(1, s.g, form_axpy(2, q0, s.g), s.pairs);
    form_mix(f->k, s.pairs, mixed);
    form_symmetric(1, s.u, s.p, s.change);
    up = form_dot(s.u, s.p);
    for (int i = 0; i < 6; i++) s.change[i] += mixed[i] - (i < 3 ? up : 0);
    form_product(s.change, f->sig, s.times);
    square =
        s.times[0] * s.times[0] + s.times[4] * s.times[4] + s.times[8] * s.times[8]
        + 2 * (s.times[1] * s.times[3] + s.times[2] * s.times[6] + s.times[5] * s.times[7]);
    s.log = f->norm - 0.5 * (form_dot(s.g, s.u) + s.wt) + 0.5 * form_dot(s.gradient, s.move)
            - 0.5 * (prior + s.times[0] + s.times[4] + s.times[8]) + 0.25 * square
            + s.tt * (1. / 12) - 0.5 * f->b * s.p2;
    return s;
}

/* The slopes of log I by the place and by the numbers of a form. */
struct form_slopes {
    struct form_vector d;
    struct form by;
};

FORM_FN void form_give(struct form_vector v, double *to)
{
    to[0] = v.x, to[1] = v.y, to[2] = v.z;
}

/* Writes the slopes of s a M b by the six numbers of a symmetric matrix M. Each of the last
 * three numbers stands for two elements of M. */
FORM_FN void form_outer(double s, struct form_vector a, struct form_vector b, double *to)
{
    form_symmetric(s, a, b, to);
    for (int i = 3; i < 6; i++) to[i] *= 2;
}

FORM_FN void form_add_outer(double s, struct form_vector a, struct form_vector b,
                            double *to)
{
    double more[6];

    form_outer(s, a, b, more);
    for (int i = 0; i < 6; i++) to[i] += more[i];
}

/* Let h be the change of the Hessian. Its slopes -sig/2 + sig h sig/2 are propagated to u,
 * p, g, q0 and K; the slopes by sig, -h/2 + h sig h/2, are written. */
FORM_FN void form_back_change(const struct form *f, const struct form_steps *s,
                              struct form_vector *u_bar, struct form_vector *p_bar,
                              struct form_vector *g_bar, struct form_vector *q0_bar,
                              double *sig_bar, double *k_bar)
{
    double change_bar[6], pairs_bar[6], trace;

    form_before(f->sig, s->times, change_bar);
    form_after(s->change, s->times, sig_bar);
    for (int i = 0; i < 6; i++) {
        change_bar[i] = 0.5 * (change_bar[i] - f->sig[i]);
        sig_bar[i] = (i < 3 ? 0.5 : 1) * (sig_bar[i] - s->change[i]);
    }
    form_mix(change_bar, s->pairs, k_bar);
    form_mix(change_bar, f->k, pairs_bar);
    trace = change_bar[0] + change_bar[1] + change_bar[2];
    *u_bar = form_axpy(-trace, s->p, form_times(change_bar, s->p));
    *p_bar = form_axpy(-trace, s->u, form_times(change_bar, s->u));
    *g_bar = form_scale(2, form_times(pairs_bar, s->p));
    *q0_bar = form_scale(2, form_times(pairs_bar, s->g));
}

/* Returns the slopes of log I. It follows the steps of form_at() backwards; a name x_bar
 * stands for the slope by x. */
FORM_FN struct form_slopes form_back(const struct form *f, const struct form_steps *s)
{
    const struct form_vector n = form_load(f->n), q0 = form_scale(f->q, n);
    const double wt_bar = s->trace * (1. / 12) - 0.5;
    double k_bar[6];
    struct form_vector u_bar, g_bar, w_bar, t_bar, p_bar, d_bar, c_bar, e_bar, y_bar, v_bar,
        perp_bar, n_bar, q0_bar;
    double s1_bar, s2_bar, tt_bar, q_bar, arc_bar, v2_bar, bent_bar, p2_bar, off_bar,
        along_bar;
    struct form_slopes out;

    form_back_change(f, s, &u_bar, &p_bar, &g_bar, &q0_bar, out.by.sig, k_bar);
    u_bar = form_axpy(-0.5, s->g, u_bar);
    g_bar = form_axpy(-0.5, s->u, g_bar);
    w_bar = form_scale(wt_bar, s->t);
    t_bar = form_axpy(1. / 6, s->t, form_scale(wt_bar, s->w));
    t_bar =
        form_axpy(-0.5, form_load(f->beta), form_axpy(-1, form_times(f->m, s->t), t_bar));
    form_give(form_scale(-0.5, s->t), out.by.beta);
    form_outer(-0.5, s->t, s->t, out.by.m);
    form_add_outer(0.5, s->gradient, s->gradient, out.by.sig);
    for (int i = 0; i < 3; i++) out.by.sig[i] += s->wt * (1. / 12);
    /* back through the gradient; `move` is the slope of log I by the gradient */
    w_bar = form_axpy(1, s->move, form_axpy(0.5, form_cross(s->t, s->move), w_bar));
    t_bar = form_axpy(0.5, form_cross(s->move, s->w), t_bar);
    p_bar = form_axpy(-1, form_cross(s->u, s->move), p_bar);
    u_bar = form_axpy(-1, form_cross(s->move, s->p), u_bar);
    form_outer(1, u_bar, s->g, out.by.k);
    for (int i = 0; i < 6; i++) out.by.k[i] += (i < 3 ? 1 : 2) * k_bar[i];
    g_bar = form_axpy(1, form_times(f->k, u_bar), form_axpy(1, p_bar, g_bar));
    q0_bar = form_axpy(1, p_bar, q0_bar);
    q_bar = form_dot(q0_bar, n);
    n_bar = form_scale(f->q, q0_bar);
    s1_bar = -form_dot(g_bar, s->c);
    s2_bar = form_dot(g_bar, s->e);
    e_bar = form_scale(s->s2, g_bar);
    t_bar = form_axpy(1, form_cross(s->c, e_bar), t_bar);
    c_bar = form_axpy(-s->s1, g_bar, form_cross(e_bar, s->t));
    t_bar = form_axpy(1, form_cross(form_axpy(1, q0, s->d), c_bar), t_bar);
    p_bar = form_cross(c_bar, s->t);
    q_bar += form_dot(p_bar, n);
    n_bar = form_axpy(f->q, p_bar, n_bar);
    d_bar = form_axpy(1, p_bar, g_bar);
    tt_bar = s1_bar * (s->tt * (1. / 60) - 1. / 6) - s2_bar * (1. / 24);
    t_bar = form_axpy(2 * tt_bar, s->t, t_bar);
    form_outer(1, t_bar, s->w, out.by.s);
    w_bar = form_axpy(1, form_times(f->s, t_bar), w_bar);
    y_bar = form_scale(f->q, form_cross(w_bar, n));
    q_bar += form_dot(w_bar, form_cross(n, s->y));
    n_bar = form_axpy(f->q, form_cross(s->y, w_bar), n_bar);
    form_outer(1, y_bar, s->v, out.by.ci);
    /* back through the displacement v */
    v_bar = form_times(f->ci, y_bar);
    perp_bar = form_scale(s->arc, v_bar);
    arc_bar = form_dot(v_bar, s->perp);
    v2_bar = form_dot(v_bar, n);
    n_bar = form_axpy(s->v2, v_bar, n_bar);
    bent_bar =
        arc_bar * (1. / 6 + s->rho2 / (s->p2 + 1e-300) * (3. / 20)) / (s->p2 + 1e-300);
    perp_bar = form_axpy(2 * bent_bar, s->perp, perp_bar);
    off_bar = v2_bar / (s->length + f->q + 1e-300);
    q_bar -= off_bar * s->v2;
    p2_bar = -0.5 * off_bar * s->v2 / (s->length + 1e-300)
             - bent_bar * s->rho2 / (s->p2 + 1e-300) - 0.5 * f->b;
    off_bar += p2_bar;
    q_bar += 2 * f->q * p2_bar + 2 * s->along * off_bar;
    along_bar = 2 * f->q * off_bar - form_dot(perp_bar, n);
    n_bar = form_axpy(-s->along, perp_bar, form_axpy(along_bar, s->d, n_bar));
    d_bar = form_axpy(2 * off_bar, s->d,
                      form_axpy(1, perp_bar, form_axpy(along_bar, n, d_bar)));
    out.d = d_bar;
    out.by.norm = 1;
    out.by.q = q_bar;
    form_give(n_bar, out.by.n);
    out.by.b = -0.5 * s->p2;
    return out;
}

/* log I at a place, and its slopes. */
struct form_slopes_at {
    double log;
    struct form_slopes slopes;
};

/* Returns log I and its slopes at the place q0 + d. A function of its own keeps addresses
 * out of the loop over places, which compilers would not vectorise. */
FORM_FN struct form_slopes_at form_slopes_at(const struct form *f, struct form_vector d)
{
    const struct form_steps steps = form_at(f, d);
    const struct form_slopes_at at = {steps.log, form_back(f, &steps)};

    return at;
}

#endif
