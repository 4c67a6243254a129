/*
 * lane_slopes.h - the first half of lanes_vjp.c: the slopes of a pair of source and
 * orientation in every lane, and their sums. Compiled with it, once per instruction set and
 * precision.
 *
 * x_bar is what the number at the end changes by with x, as in physics/pixel_vjp.h; in the
 * lanes all of them are divided by `scale`, so that float holds them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_LANE_SLOPES_H
#define NB_KERNELS_LANE_SLOPES_H

#include "kernels/lane_moments.h"
#include "kernels/lane_sums.h"
#include "physics/pixel_vjp.h"

static int crystal_slopes(struct phys_spec spec)
{
    return spec.shape == PHYS_SQUARE ? 3 : CRYSTAL;
}

/* to[i] = a[i] b[i] */
static void times(int n, const real *restrict a, const real *restrict b, real *restrict to)
{
#pragma omp simd
    for (int i = 0; i < n; i++) to[i] = a[i] * b[i];
}

/* to[i] += a[i] */
static void add(int n, const real *restrict a, real *restrict to)
{
#pragma omp simd
    for (int i = 0; i < n; i++) to[i] += a[i];
}

static void blank_crystal(struct phys_spec spec, int n, struct pulled *p)
{
    for (int k = 0; k < crystal_slopes(spec); k++) fill(n, p->crystal[k], 0);
}

/* ---- a pair of source and orientation ---- */

/* F^2 of a lane and its slopes, from those of its lattice factor alone */
PHYS_FN struct phys_sample in_cell(struct phys_spec spec, const struct sites *in, int i,
                                   struct phys_sample lattice)
{
    const real cell = spec.lookup == PHYS_CONSTANT ? 1 : in->cell[i];
    const real cell2 = cell * cell, bend = 2 * cell * lattice.f2;
    struct phys_sample s;

    s.f2 = cell2 * lattice.f2;
    s.dh = cell2 * lattice.dh;
    s.dk = cell2 * lattice.dk;
    s.dl = cell2 * lattice.dl;
    if (spec.lookup == PHYS_TRICUBIC) {
        s.dh += bend * in->cell_h[i];
        s.dk += bend * in->cell_k[i];
        s.dl += bend * in->cell_l[i];
    }
    return s;
}

PHYS_FN void grating_slopes(struct phys_spec spec, const struct phys_crystal *of, int n,
                            real weight, const struct sites *restrict in,
                            real *restrict sum, struct pulled *restrict p)
{
    const struct phys_crystal crystal = *of;
    real *restrict f2 = p->f2, *restrict gh = p->gh;
    real *restrict gk = p->gk, *restrict gl = p->gl;

#pragma omp simd
    for (int i = 0; i < n; i++) {
        const struct phys_grating g =
            phys_grating(&crystal, phys_vec3(in->h[i], in->k[i], in->l[i]));
        const struct phys_sample s = in_cell(spec, in, i, g.sample);
        const real cell = spec.lookup == PHYS_CONSTANT ? 1 : in->cell[i];
        const real weighted = weight * (cell * cell);

        f2[i] = s.f2, gh[i] = s.dh, gk[i] = s.dk, gl[i] = s.dl;
        sum[i] += weight * s.f2;
        p->crystal[0][i] += weighted * g.dn.x;
        p->crystal[1][i] += weighted * g.dn.y;
        p->crystal[2][i] += weighted * g.dn.z;
    }
}

PHYS_FN void bump_slopes(struct phys_spec spec, const struct phys_crystal *of, int n,
                         real weight, const struct sites *restrict in, real *restrict sum,
                         struct pulled *restrict p)
{
    const struct phys_crystal crystal = *of;
    real *restrict f2 = p->f2, *restrict gh = p->gh;
    real *restrict gk = p->gk, *restrict gl = p->gl;

#pragma omp simd
    for (int i = 0; i < n; i++) {
        const struct phys_bump g =
            phys_bump(spec.shape, &crystal, phys_vec3(in->h[i], in->k[i], in->l[i]));
        const struct phys_sample s = in_cell(spec, in, i, g.sample);
        const real cell = spec.lookup == PHYS_CONSTANT ? 1 : in->cell[i];
        const real weighted = weight * (cell * cell);

        f2[i] = s.f2, gh[i] = s.dh, gk[i] = s.dk, gl[i] = s.dl;
        sum[i] += weight * s.f2;
        p->crystal[0][i] += weighted * g.dfudge;
        p->crystal[1][i] += weighted * g.dhh;
        p->crystal[2][i] += weighted * g.dkk;
        p->crystal[3][i] += weighted * g.dll;
        p->crystal[4][i] += weighted * g.dhk;
        p->crystal[5][i] += weighted * g.dhl;
        p->crystal[6][i] += weighted * g.dkl;
    }
}

/* F^2 and its slopes in h, k, l; added up with a weight, F^2 and its slopes in the crystal
 */
PHYS_FN void slopes_of(struct phys_spec spec, const struct phys_view *view, int n,
                       real weight, const struct sites *in, real *sum, struct pulled *p)
{
    if (spec.shape == PHYS_SQUARE)
        grating_slopes(spec, &view->crystal, n, weight, in, sum, p);
    else
        bump_slopes(spec, &view->crystal, n, weight, in, sum, p);
}

/* x, y, z += weighted slopes in the direction. `axes` as in phys_anchor: per step of it */
static void add_direction(const struct phys_axes *of, real weight, int n,
                          struct pulled *restrict p)
{
    const struct phys_axes axes = {phys_scale(weight, of->a), phys_scale(weight, of->b),
                                   phys_scale(weight, of->c)};
    const real *restrict gh = p->gh, *restrict gk = p->gk, *restrict gl = p->gl;

#pragma omp simd
    for (int i = 0; i < n; i++) {
        p->x[i] += axes.a.x * gh[i] + axes.b.x * gk[i] + axes.c.x * gl[i];
        p->y[i] += axes.a.y * gh[i] + axes.b.y * gk[i] + axes.c.y * gl[i];
        p->z[i] += axes.a.z * gh[i] + axes.b.z * gk[i] + axes.c.z * gl[i];
    }
}

/* what the structure factors get from a pair: F^2 changes by 2 F^2/F with F */
static void scatter_f(struct phys_spec spec, const struct launch *a, double weight,
                      const struct phys_anchor *anchor, const struct sites *restrict sites,
                      const struct lanes *l, const struct pulled *p, struct phys_slope *bar)
{
    const struct phys_box box = phys_box_from(0, a->view.box, anchor->whole);
    const double scale = 2 * weight * p->scale;
    const real *restrict cell = sites->cell, *restrict f2 = p->f2;
    _Alignas(64) lane f_bar = {0};

#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        const real none = cell[i] == 0 ? 1 : 0;

        f_bar[i] = (1 - none) * p->w[i] * f2[i] / (cell[i] + none);
    }
    if (spec.lookup == PHYS_NEAREST) {
        MOMENTS.scatter(l->n, sites->place, f_bar, scale, bar->f);
        return;
    }
    for (int i = 0; i < l->n; i++) {
        const struct phys_vec3 x = phys_anchor_indices(anchor, step_of(l, i));

        phys_structure_factor_vjp(spec, &box, x, phys_lattice_point(spec, x),
                                  (real)(scale * (double)f_bar[i]), bar);
    }
}

#endif
