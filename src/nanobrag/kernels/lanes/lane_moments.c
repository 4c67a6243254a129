/*
 * lane_moments.c - sums of cotangents over the lanes of a tile. It is a file of its own
 * because it is compiled with a flag that lets the compiler choose the order of a sum.
 * Without the flag, gcc keeps the sums of `omp simd reduction` in memory and stores them in
 * every step, which takes longer than the additions. The order affects only the last digit,
 * and it is the same in every call of one build.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/lanes/lane_moments.h"

#include <limits.h>

#include "physics/polarization.h"

/* The loop is split in two because one loop would need more registers than there are. */
static struct pair_moments pair(const struct lanes *l, const struct cotangent *p)
{
    const real *gh = p->gh, *gk = p->gk, *gl = p->gl;
    real f = 0, h = 0, k = 0, m = 0, hx = 0, hy = 0, hz = 0;
    real kx = 0, ky = 0, kz = 0, mx = 0, my = 0, mz = 0;

    for (int i = 0; i < l->n; i++) {
        const real w = p->w[i], wh = w * gh[i];

        f += w * p->f2[i], h += wh, k += w * gk[i], m += w * gl[i];
        hx += wh * l->x[i], hy += wh * l->y[i], hz += wh * l->z[i];
    }
    for (int i = 0; i < l->n; i++) {
        const real wk = p->w[i] * gk[i], wl = p->w[i] * gl[i];

        kx += wk * l->x[i], ky += wk * l->y[i], kz += wk * l->z[i];
        mx += wl * l->x[i], my += wl * l->y[i], mz += wl * l->z[i];
    }
    return (struct pair_moments){f, {h, k, m}, {{hx, hy, hz}, {kx, ky, kz}, {mx, my, mz}}};
}

static struct source_terms source(const struct lanes *l, const struct cotangent *p,
                                  const struct phys_source *of)
{
    const struct phys_vec3 mid = phys_axpy(-1, phys_load(of->direction), l->patch.d);
    const real unit = (real)of->inverse_wavelength;
    real x = 0, y = 0, z = 0, inverse_wavelength = 0, weight = 0, displacement = 0;

    for (int i = 0; i < l->n; i++) {
        const struct source_terms t = lane_source_terms(l, p, i, mid, unit);

        x += t.direction.x, y += t.direction.y, z += t.direction.z;
        inverse_wavelength += t.inverse_wavelength;
        weight += t.weight;
        displacement += t.displacement;
    }
    return (struct source_terms){{x, y, z}, inverse_wavelength, weight, displacement};
}

static void products(int n, const real *w, int count, real *const *a, double *out)
{
    int k = 0;

    for (; k + 3 <= count; k += 3) {
        const real *x = a[k], *y = a[k + 1], *z = a[k + 2];
        real sum_x = 0, sum_y = 0, sum_z = 0;

        for (int i = 0; i < n; i++)
            sum_x += w[i] * x[i], sum_y += w[i] * y[i], sum_z += w[i] * z[i];
        out[k] = (double)sum_x, out[k + 1] = (double)sum_y, out[k + 2] = (double)sum_z;
    }
    for (; k < count; k++) {
        const real *x = a[k];
        real sum = 0;

        for (int i = 0; i < n; i++) sum += w[i] * x[i];
        out[k] = (double)sum;
    }
}

static struct place_moments place(const struct lanes *l, const struct cotangent *p,
                                  real radial)
{
    const struct phys_vec3 mid = l->patch.d;
    const real per_r = (real)(1 / l->patch.distance);
    real x = 0, y = 0, z = 0, fx = 0, fy = 0, fz = 0, sx = 0, sy = 0, sz = 0, r = 0;

    for (int i = 0; i < l->n; i++) {
        const struct phys_vec3 v = lane_place_bar(l, p, i, mid, per_r, radial);
        const real fast = l->fast[i], slow = l->slow[i];

        x += v.x, y += v.y, z += v.z;
        fx += fast * v.x, fy += fast * v.y, fz += fast * v.z;
        sx += slow * v.x, sy += slow * v.y, sz += slow * v.z;
        r += p->r[i];
    }
    return (struct place_moments){{x, y, z}, {fx, fy, fz}, {sx, sy, sz}, r};
}

static double product(int n, const double *a, const double *b)
{
    double sum = 0;

    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static double total(int n, const real *a)
{
    double sum = 0;

    for (int i = 0; i < n; i++) sum += (double)a[i];
    return sum;
}

/* Returns the smallest place of the lanes above `at`; INT_MAX or more means none. */
static unsigned next_place(int n, const int *place, int at)
{
    unsigned gap = UINT_MAX;

    for (int i = 0; i < n; i++) { /* the difference of places not above `at` wraps around */
        const unsigned above = (unsigned)place[i] - (unsigned)at - 1;

        gap = above < gap ? above : gap;
    }
    return (unsigned)at + 1 + gap;
}

/* The lanes of a tile mostly share a few places. So for each place, from the lowest up,
 * the lanes with this place are summed first. This ends as soon as adding the remaining
 * lanes one by one is faster. */
static void scatter(int n, const int *place, const real *a, const real *b, double scale,
                    double *to)
{
    enum { WORTH = 8 }; /* one round takes as long as adding this many lanes one by one */
    real part[TILE_PIXELS];
    unsigned at = next_place(n, place, -1);
    int met = 0;

    for (int i = 0; i < n; i++) part[i] = a[i] * b[i];
    for (int round = 0; met < n && met >= round * WORTH; round++) {
        const int here = (int)at;
        int share = 0;
        real sum = 0;

        for (int i = 0; i < n; i++) {
            share += place[i] == here;
            sum += place[i] == here ? part[i] : 0;
        }
        to[here] += scale * (double)sum;
        met += share;
        at = next_place(n, place, here);
    }
    for (int i = 0; i < n && met < n; i++)
        if ((unsigned)place[i] >= at) to[place[i]] += scale * (double)part[i];
}

#ifndef PHYS_SINGLE
/* There are two loops for the reason given at pair(); the first keeps the cotangents of the
 * places for the second. */
static void pixels(const struct lanes *l, const struct pixel_frame *frame,
                   const double *bright, struct pixel_sums *out)
{
    const struct pixel_frame of = *frame;
    const struct phys_vec3 mid = l->patch.d;
    const double per_r = 1 / l->patch.distance;
    _Alignas(64) wide vx, vy, vz;
    double kahn = 0, omega = 0, ix = 0, iy = 0, iz = 0, ex = 0, ey = 0, ez = 0;
    double bx = 0, by = 0, bz = 0, x = 0, y = 0, z = 0, fx = 0, fy = 0, fz = 0;
    double sx = 0, sy = 0, sz = 0;

    for (int i = 0; i < l->n; i++) {
        const struct phys_vec3 d =
            phys_vec3(mid.x + l->x[i], mid.y + l->y[i], mid.z + l->z[i]);
        const struct phys_polarization_slopes s =
            phys_polarization_slopes(of.kahn, of.incident, of.e, of.b, d);
        const double polar_bar = of.polarised * bright[i] * l->omega[i];
        const double omega_bar = bright[i] * l->omega[i] * l->polarization[i];
        const double per = per_r / l->ratio[i];
        const double along = of.power * omega_bar - polar_bar * phys_dot(d, s.dd);

        vx[i] = per * (along * d.x + polar_bar * s.dd.x);
        vy[i] = per * (along * d.y + polar_bar * s.dd.y);
        vz[i] = per * (along * d.z + polar_bar * s.dd.z);
        kahn += polar_bar * s.dkahn;
        omega += omega_bar;
        ix += polar_bar * s.dincident.x, iy += polar_bar * s.dincident.y;
        iz += polar_bar * s.dincident.z;
        ex += polar_bar * s.de.x, ey += polar_bar * s.de.y, ez += polar_bar * s.de.z;
        bx += polar_bar * s.db.x, by += polar_bar * s.db.y, bz += polar_bar * s.db.z;
    }
    for (int i = 0; i < l->n; i++) {
        const double fast = l->fast[i], slow = l->slow[i];

        x += vx[i], y += vy[i], z += vz[i];
        fx += fast * vx[i], fy += fast * vy[i], fz += fast * vz[i];
        sx += slow * vx[i], sy += slow * vy[i], sz += slow * vz[i];
    }
    *out = (struct pixel_sums){{x, y, z},    {fx, fy, fz}, {sx, sy, sz}, kahn,
                               {ix, iy, iz}, {ex, ey, ez}, {bx, by, bz}, omega};
}

const struct moments MOMENTS = {pair,    source, products, place,
                                product, total,  scatter,  pixels};
#else
const struct moments MOMENTS = {pair, source, products, place, product, total, scatter};
#endif
