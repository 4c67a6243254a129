/*
 * lattice.h - the interference function F_latt of a small crystal: its value and its
 * derivatives by h, k and l (docs/theory.md, 5).
 *
 * Everything is computed from the distance of (h, k, l) to the nearest lattice point. For a
 * whole number of cells F_latt is periodic up to its sign, and only F_latt^2 is used; for
 * other numbers the periodic continuation is the definition.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_LATTICE_H
#define NB_PHYSICS_LATTICE_H

#include "frame.h"
#include "spec.h"
#include "trig.h"
#include "vec3.h"

/* The crystal in `real`, converted once per kernel. */
struct phys_crystal {
    struct phys_vec3 n; /* cells along a, b, c */
    real peak, fudge;
    real hh, kk, ll, hk, hl, kl; /* coefficients of rho^2, phys_frame.metric */
};

PHYS_FN struct phys_crystal phys_crystal(const struct phys_frame *frame)
{
    struct phys_crystal c;

    c.n = phys_load(frame->ncells);
    c.peak = (real)frame->peak;
    c.fudge = (real)frame->fudge;
    c.hh = (real)frame->metric[0];
    c.kk = (real)frame->metric[1];
    c.ll = (real)frame->metric[2];
    c.hk = (real)frame->metric[3];
    c.hl = (real)frame->metric[4];
    c.kl = (real)frame->metric[5];
    return c;
}

/* The square of a structure factor, electron^2, or of F_latt alone, and its derivatives
 * by h, k and l. */
struct phys_sample {
    real f2, dh, dk, dl;
};

/* F_latt and its derivatives by h, k and l. For the square shape all of them may have the
 * opposite sign. */
struct phys_lattice {
    real f, dh, dk, dl;
};

/* A fraction of an index below this is moved away from zero, where quotients would be 0/0.
 * The product of sin(pi v) over three axes is then still a normal number, not denormal. */
#ifdef PHYS_SINGLE
#define PHYS_OFF_ZERO 1e-13f
#else
#define PHYS_OFF_ZERO 1e-30
#endif

PHYS_FN real phys_off_zero(real x)
{
    return x + (fabs(x) < PHYS_OFF_ZERO ? 2 * PHYS_OFF_ZERO : 0);
}

/* One axis of the square shape for n cells at the fraction v: above = sin(pi n v) and
 * below = sin(pi v), both up to sign; slope, the derivative of above/below by v, times
 * below^2; and dn, the derivative of above by n. */
struct phys_slit {
    real above, below, slope, dn;
};

/* Returns the slit of n cells at a fraction v != 0 of a Miller index (docs/theory.md,
 * 5).
 *
 * Let t = n v - m, m the integer nearest to n v, S(t^2) = sin(pi t)/t and E = -2 S'. The
 * derivatives of t S(t^2) and v S(v^2) are S - t^2 E and S - v^2 E at t^2 and v^2. In
 * the derivative of the quotient the terms with two factors S reduce to m S(t^2) S(v^2).
 * So nothing cancels in the peak, where m = 0, and the zeros, where t = 0, are no poles.
 * All members are even in v, except for `slope`, which is odd. */
PHYS_FN struct phys_slit phys_slit(real v, real n)
{
    const real m = RINT(n * v), t = n * v - m;
    const real t2 = t * t, v2 = v * v;
    const real over_t = phys_sinpi_over(t2), over_v = phys_sinpi_over(v2);
    const real bent_t = t2 * phys_sinpi_over_slope(t2);
    const real bent_v = v2 * phys_sinpi_over_slope(v2);
    struct phys_slit s;

    s.above = t * over_t;
    s.below = v * over_v;
    s.slope = m * over_t * over_v + (s.above * bent_v - n * (s.below * bent_t));
    s.slope = n == 1 ? 0 : s.slope; /* one cell: F_latt is 1 everywhere */
    s.dn = v * (over_t - bent_t);
    return s;
}

/* The square of F_latt of the square shape and its derivatives by h, k, l and by the
 * numbers of cells, computed with a single division. */
struct phys_grating {
    struct phys_sample sample;
    struct phys_vec3 dn;
};

PHYS_FN struct phys_grating phys_grating(const struct phys_crystal *c, struct phys_vec3 d)
{
    const struct phys_slit a = phys_slit(phys_off_zero(d.x), c->n.x);
    const struct phys_slit b = phys_slit(phys_off_zero(d.y), c->n.y);
    const struct phys_slit l = phys_slit(phys_off_zero(d.z), c->n.z);
    const real below_bl = b.below * l.below, below_al = a.below * l.below;
    const real below_ab = a.below * b.below, per = PHYS_QUOTIENT(1, (a.below * below_bl));
    const real rest_a = b.above * l.above * per, rest_b = a.above * l.above * per;
    const real rest_l = a.above * b.above * per;
    const real f = a.above * rest_a, twice = 2 * f;
    const real twice_a = twice * rest_a, twice_b = twice * rest_b, twice_l = twice * rest_l;
    struct phys_grating r;

    r.sample.f2 = f * f;
    r.sample.dh = twice_a * (a.slope * (per * below_bl));
    r.sample.dk = twice_b * (b.slope * (per * below_al));
    r.sample.dl = twice_l * (l.slope * (per * below_ab));
    r.dn = phys_vec3(twice_a * a.dn, twice_b * b.dn, twice_l * l.dn);
    return r;
}

/* Returns F_latt of the square shape. F_latt is even in d and computed from |d|; only the
 * derivatives take the signs of d, and the kernels of an image do not use these. */
PHYS_FN struct phys_lattice phys_square(const struct phys_crystal *c, struct phys_vec3 d)
{
    const struct phys_slit a = phys_slit(fabs(d.x) + PHYS_OFF_ZERO, c->n.x);
    const struct phys_slit b = phys_slit(fabs(d.y) + PHYS_OFF_ZERO, c->n.y);
    const struct phys_slit l = phys_slit(fabs(d.z) + PHYS_OFF_ZERO, c->n.z);
    const real below = a.below * b.below * l.below;
    struct phys_lattice r;

    r.f = PHYS_QUOTIENT(a.above * b.above * l.above, below);
    r.dh = copysign((real)1, d.x) * a.slope * b.above * l.above / (below * a.below);
    r.dk = copysign((real)1, d.y) * a.above * b.slope * l.above / (below * b.below);
    r.dl = copysign((real)1, d.z) * a.above * b.above * l.slope / (below * l.below);
    return r;
}

/* Returns S = 3 (sin x/x - cos x)/x^2 of a sphere as a function of u = (x/pi)^2. S is an
 * entire function of u, so its derivative needs no square root. Below x^2 = 1 the closed
 * form would cancel, so the series is used: 9 terms, whose remainder is below 1e-17, and
 * below 2e-16 of the derivative. */
PHYS_FN struct phys_dual phys_sphere(real u)
{
    const real x2 = PHYS_PI * PHYS_PI * u;
    const real z = x2 < 1 ? x2 : 1; /* argument of the series */
    const real w = x2 < 1 ? 1 : x2; /* argument of the closed form */
    const real y = sqrt(w) * ((real)1 / PHYS_PI);
    const real sinc = phys_sinpi(y) / sqrt(w);
    const real closed = 3 * (sinc - phys_cospi(y)) / w;
    real series = (real)4.439143033177138e-16; /* 3 (-1)^k (2k+2)/(2k+3)! x^2k */
    real slope = 8 * (real)4.439143033177138e-16; /* derivative of the series by x^2 */
    struct phys_dual r;

    series = series * z - (real)1.34949948208585e-13;
    slope = slope * z - 7 * (real)1.34949948208585e-13;
    series = series * z + (real)3.2118087673643227e-11;
    slope = slope * z + 6 * (real)3.2118087673643227e-11;
    series = series * z - (real)5.7812557812557815e-9;
    slope = slope * z - 5 * (real)5.7812557812557815e-9;
    series = series * z + (real)7.515632515632515e-7;
    slope = slope * z + 4 * (real)7.515632515632515e-7;
    series = series * z - (real)6.613756613756614e-5;
    slope = slope * z - 3 * (real)6.613756613756614e-5;
    series = series * z + (real)3.5714285714285713e-3;
    slope = slope * z + 2 * (real)3.5714285714285713e-3;
    series = series * z - (real)0.1;
    slope = slope * z - (real)0.1;
    series = series * z + 1;
    r.f = x2 < 1 ? series : closed;
    /* dS/dx^2 = -3 j2(x)/(2 x^2) = -(3/2) (S - sin x/x)/x^2 */
    r.df = PHYS_PI * PHYS_PI * (x2 < 1 ? slope : (real)-1.5 * (closed - sinc) / w);
    return r;
}

/* Returns F_latt over its peak, for the shapes that depend on u = fudge rho^2 alone. */
PHYS_FN struct phys_dual phys_profile(int shape, real u)
{
    struct phys_dual r;

    if (shape == PHYS_ROUND) {
        r = phys_sphere(u);
        r.f *= (real)0.723601254558268;
        r.df *= (real)0.723601254558268;
    } else if (shape == PHYS_GAUSS) {
        r.f = phys_exp(u * (-1 / (real)0.63));
        r.df = r.f * (-1 / (real)0.63);
    } else {
        r.f = u < (real)0.3969 ? 1 : 0;
        r.df = 0;
    }
    return r;
}

/* Returns F_latt at a distance d = (dh, dk, dl) from the nearest lattice point. */
PHYS_FN struct phys_lattice phys_lattice(struct phys_spec spec,
                                         const struct phys_crystal *c, struct phys_vec3 d)
{
    struct phys_vec3 slope;
    struct phys_dual p;
    struct phys_lattice r;
    real scale;

    if (spec.shape == PHYS_SQUARE) return phys_square(c, d);
    slope = phys_vec3(2 * c->hh * d.x + c->hk * d.y + c->hl * d.z,
                      c->hk * d.x + 2 * c->kk * d.y + c->kl * d.z,
                      c->hl * d.x + c->kl * d.y + 2 * c->ll * d.z);
    p = phys_profile(spec.shape, c->fudge * (phys_dot(slope, d) / 2));
    scale = c->peak * p.df * c->fudge;
    r.f = c->peak * p.f;
    r.dh = scale * slope.x;
    r.dk = scale * slope.y;
    r.dl = scale * slope.z;
    return r;
}

/* The square of F_latt over its peak, for shapes that are not square, and its
 * derivatives by h, k, l, by the fudge factor and by the metric (hh kk ll hk hl kl). */
struct phys_bump {
    struct phys_sample sample;
    real fall; /* derivative of the square by fudge rho^2 */
    real bend; /* derivative of the square by rho^2 */
    real dfudge, dhh, dkk, dll, dhk, dhl, dkl;
};

PHYS_FN struct phys_bump phys_bump(int shape, const struct phys_crystal *c,
                                   struct phys_vec3 d)
{
    const struct phys_vec3 slope = phys_vec3(2 * c->hh * d.x + c->hk * d.y + c->hl * d.z,
                                             c->hk * d.x + 2 * c->kk * d.y + c->kl * d.z,
                                             c->hl * d.x + c->kl * d.y + 2 * c->ll * d.z);
    const real rho2 = phys_dot(slope, d) / 2;
    const struct phys_dual p = phys_profile(shape, c->fudge * rho2);
    const real twice = 2 * p.f * p.df, scale = twice * c->fudge;
    struct phys_bump r;

    r.sample.f2 = p.f * p.f;
    r.fall = twice;
    r.bend = scale;
    r.sample.dh = scale * slope.x;
    r.sample.dk = scale * slope.y;
    r.sample.dl = scale * slope.z;
    r.dfudge = twice * rho2;
    r.dhh = scale * d.x * d.x;
    r.dkk = scale * d.y * d.y;
    r.dll = scale * d.z * d.z;
    r.dhk = scale * d.x * d.y;
    r.dhl = scale * d.x * d.z;
    r.dkl = scale * d.y * d.z;
    return r;
}

/* The derivatives of phys_lattice() by the crystal's numbers: the numbers of cells for
 * the square shape, else the peak, the fudge factor and the metric. */
struct phys_crystal_slopes {
    struct phys_vec3 dn;
    real dpeak, dfudge, dhh, dkk, dll, dhk, dhl, dkl;
};

PHYS_FN struct phys_crystal_slopes phys_square_cells(const struct phys_crystal *c,
                                                     struct phys_vec3 d)
{
    const struct phys_slit a = phys_slit(fabs(d.x) + PHYS_OFF_ZERO, c->n.x);
    const struct phys_slit b = phys_slit(fabs(d.y) + PHYS_OFF_ZERO, c->n.y);
    const struct phys_slit l = phys_slit(fabs(d.z) + PHYS_OFF_ZERO, c->n.z);
    const real per = 1 / (a.below * b.below * l.below);
    struct phys_crystal_slopes s;

    s.dn = phys_vec3(a.dn * b.above * l.above * per, a.above * b.dn * l.above * per,
                     a.above * b.above * l.dn * per);
    s.dpeak = s.dfudge = s.dhh = s.dkk = s.dll = s.dhk = s.dhl = s.dkl = 0;
    return s;
}

PHYS_FN struct phys_crystal_slopes phys_lattice_crystal(struct phys_spec spec,
                                                        const struct phys_crystal *c,
                                                        struct phys_vec3 d)
{
    const real rho2 = c->hh * d.x * d.x + c->kk * d.y * d.y + c->ll * d.z * d.z
                      + c->hk * d.x * d.y + c->hl * d.x * d.z + c->kl * d.y * d.z;
    struct phys_crystal_slopes s;
    struct phys_dual p;
    real metric;

    if (spec.shape == PHYS_SQUARE) return phys_square_cells(c, d);
    p = phys_profile(spec.shape, c->fudge * rho2);
    metric = c->peak * p.df * c->fudge;
    s.dn = phys_vec3(0, 0, 0);
    s.dpeak = p.f;
    s.dfudge = c->peak * p.df * rho2;
    s.dhh = metric * d.x * d.x;
    s.dkk = metric * d.y * d.y;
    s.dll = metric * d.z * d.z;
    s.dhk = metric * d.x * d.y;
    s.dhl = metric * d.x * d.z;
    s.dkl = metric * d.y * d.z;
    return s;
}

#endif
