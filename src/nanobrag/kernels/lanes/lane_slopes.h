/*
 * lane_slopes.h - the derivatives of F^2 for one pair of source and orientation in every
 * lane, and their sums over pairs. It is compiled with lanes_vjp.c, once per instruction
 * set and precision.
 *
 * A name x_bar stands for the cotangent dL/dx of x, where L is the objective, as in
 * physics/step_vjp.h. In the lanes all cotangents are divided by cotangent.scale, so that
 * float can represent them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_LANES_LANE_SLOPES_H
#define NB_KERNELS_LANES_LANE_SLOPES_H

#include "kernels/lanes/lane_moments.h"
#include "kernels/lanes/lane_sums.h"
#include "kernels/lanes/lane_tricubic_vjp.h"
#include "physics/step_vjp.h"

/* Sets to[i] to a[i] b[i]. */
static void lane_multiply_to(int n, const real *restrict a, const real *restrict b,
                             real *restrict to)
{
#pragma omp simd
    for (int i = 0; i < n; i++) to[i] = a[i] * b[i];
}

/* Adds a[i] to to[i]. */
static void lane_add(int n, const real *restrict a, real *restrict to)
{
#pragma omp simd
    for (int i = 0; i < n; i++) to[i] += a[i];
}

/* Sets the sums of derivatives by the crystal's numbers to 0. */
static void blank_crystal(struct phys_spec spec, int n, struct cotangent *p)
{
    for (int k = 0; k < frame_crystal(spec).count; k++) lane_fill(n, p->crystal[k], 0);
}

/* ---- a pair of source and orientation ---- */

/* Returns F^2 = (F_cell F_latt)^2 of lane i and its derivatives by h, k, l, given F_latt^2
 * and its derivatives. Sets per_f[i] to F_cell F_latt^2 unless F_cell is constant. */
PHYS_FN struct phys_sample in_cell(struct phys_spec spec, const struct sites *in, int i,
                                   struct phys_sample lattice, real *per_f)
{
    const real cell = spec.lookup == PHYS_CONSTANT ? 1 : in->cell.f[i];
    const real cell2 = cell * cell, bend = 2 * cell * lattice.f2;
    struct phys_sample s;

    s.f2 = cell2 * lattice.f2;
    s.dh = cell2 * lattice.dh;
    s.dk = cell2 * lattice.dk;
    s.dl = cell2 * lattice.dl;
    if (spec.lookup == PHYS_TRICUBIC) {
        s.dh += bend * in->cell.dh[i];
        s.dk += bend * in->cell.dk[i];
        s.dl += bend * in->cell.dl[i];
    }
    if (spec.lookup != PHYS_CONSTANT) per_f[i] = cell * lattice.f2;
    return s;
}

PHYS_FN void grating_slopes(struct phys_spec spec, const struct phys_crystal *of, int n,
                            real weight, const struct sites *restrict in,
                            real *restrict sum, struct cotangent *restrict p)
{
    const struct phys_crystal crystal = *of;
    real *restrict f2 = p->f2, *restrict gh = p->gh;
    real *restrict gk = p->gk, *restrict gl = p->gl, *restrict per_f = p->per_f;

#pragma omp simd
    for (int i = 0; i < n; i++) {
        const struct phys_grating g =
            phys_grating(&crystal, phys_vec3(in->h[i], in->k[i], in->l[i]));
        const struct phys_sample s = in_cell(spec, in, i, g.sample, per_f);
        const real cell = spec.lookup == PHYS_CONSTANT ? 1 : in->cell.f[i];
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
                         struct cotangent *restrict p)
{
    const struct phys_crystal crystal = *of;
    real *restrict f2 = p->f2, *restrict gh = p->gh;
    real *restrict gk = p->gk, *restrict gl = p->gl, *restrict per_f = p->per_f;

#pragma omp simd
    for (int i = 0; i < n; i++) {
        const struct phys_bump g =
            phys_bump(spec.shape, &crystal, phys_vec3(in->h[i], in->k[i], in->l[i]));
        const struct phys_sample s = in_cell(spec, in, i, g.sample, per_f);
        const real cell = spec.lookup == PHYS_CONSTANT ? 1 : in->cell.f[i];
        const real weighted = weight * (cell * cell);

        f2[i] = s.f2, gh[i] = s.dh, gk[i] = s.dk, gl[i] = s.dl;
        sum[i] += weight * s.f2;
        p->crystal[0][i] += weighted * g.dhh;
        p->crystal[1][i] += weighted * g.dkk;
        p->crystal[2][i] += weighted * g.dll;
        p->crystal[3][i] += weighted * g.dhk;
        p->crystal[4][i] += weighted * g.dhl;
        p->crystal[5][i] += weighted * g.dkl;
        p->crystal[6][i] += weighted * g.dfudge;
    }
}

/* Computes F^2 and its derivatives by h, k, l of one pair in every lane. Adds F^2 to `sum`,
 * and its derivatives by the crystal's numbers to p->crystal, both times `weight`. */
PHYS_FN void slopes_of(struct phys_spec spec, const struct phys_view *view, int n,
                       real weight, const struct sites *in, real *sum, struct cotangent *p)
{
    if (spec.shape == PHYS_SQUARE)
        grating_slopes(spec, &view->crystal, n, weight, in, sum, p);
    else
        bump_slopes(spec, &view->crystal, n, weight, in, sum, p);
}

/* Adds dF^2/d(direction), times `weight`, to p->x, y, z. `of` are the axes divided by the
 * wavelength, as an anchor of phys_patch_anchor() has them. */
static void add_direction(const struct phys_axes *of, real weight, int n,
                          struct cotangent *restrict p)
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

/* The nodes from which F is interpolated in each lane: the place in f of the first node, or
 * -1 if F is not interpolated, and the weights of the nodes along h, k and l. */
struct nodes {
    _Alignas(64) int corner[TILE_PIXELS];
    _Alignas(64) lane h[4], k[4], l[4];
};

PHYS_FN void find_nodes(const struct phys_box *of, const struct phys_anchor *at,
                        const struct lanes *restrict l, struct nodes *restrict out)
{
    const struct phys_anchor anchor = *at;
    const struct phys_box box = *of;

#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        const struct phys_vec3 x = phys_anchor_indices(&anchor, step_of(l, i));
        const struct phys_nodes nodes = phys_nodes(&box, x);

        out->corner[i] = nodes.corner;
        out->h[0][i] = nodes.h.w0, out->h[1][i] = nodes.h.w1;
        out->h[2][i] = nodes.h.w2, out->h[3][i] = nodes.h.w3;
        out->k[0][i] = nodes.k.w0, out->k[1][i] = nodes.k.w1;
        out->k[2][i] = nodes.k.w2, out->k[3][i] = nodes.k.w3;
        out->l[0][i] = nodes.l.w0, out->l[1][i] = nodes.l.w1;
        out->l[2][i] = nodes.l.w2, out->l[3][i] = nodes.l.w3;
    }
}

/* Adds `weight` times the interpolation weights of lane i to its 64 places of f, four
 * neighbours at a time. */
PHYS_FN void give_nodes(const struct nodes *nodes, int i, const struct phys_box *box,
                        double weight, double *restrict f)
{
    const double along[4] = {(double)nodes->l[0][i], (double)nodes->l[1][i],
                             (double)nodes->l[2][i], (double)nodes->l[3][i]};

    for (int h = 0; h < 4; h++)
        for (int k = 0; k < 4; k++) {
            const double part = weight * (double)nodes->h[h][i] * (double)nodes->k[k][i];
            const int place = nodes->corner[i] + h * box->stride_h + k * box->stride_k;
            double *to = f + place;

            for (int c = 0; c < 4; c++) to[c] += part * along[c];
        }
}

/* Finds the cell of each lane (find_cells()), without F. */
static void cells_of(struct phys_spec spec, const struct launch *a, const struct aim *aim,
                     const struct phys_anchor *anchor, const struct lanes *l,
                     struct sites *out)
{
    const struct phys_spec any_shape = {PHYS_SQUARE, PHYS_TRICUBIC, 0, 0};
    const struct phys_box box = phys_box_from(1, a->view.box, anchor->whole);

    out->by_cell = goes_by_cell(spec, a, aim, anchor, l);
    if (out->by_cell) find_cells(any_shape, &box, anchor, aim->halfway, l, out);
}

/* Sets to[i] to s a[i] b[i], and to 0 in the VECTOR elements beyond the last lane. */
static void lane_long_product(int n, real s, const real *restrict a, const real *restrict b,
                              real *restrict to)
{
#pragma omp simd
    for (int i = 0; i < n; i++) to[i] = s * (a[i] * b[i]);
    for (int i = n; i < n + (int)VECTOR; i++) to[i] = 0;
}

/* Adds the contribution of one pair to the cotangents of the structure factors F_cell. The
 * derivative of F^2 = (F_cell F_latt)^2 by F_cell is 2 F_cell F_latt^2, and p->per_f holds
 * F_cell F_latt^2. */
static void scatter_f(struct phys_spec spec, const struct launch *a, double weight,
                      const struct phys_anchor *anchor, const struct sites *sites,
                      const struct lanes *l, const struct cotangent *p,
                      struct phys_frame_tangent *bar)
{
    const double scale = 2 * weight * p->scale;
    long_lane f_bars;
    struct nodes nodes;
    struct phys_box box;

    if (spec.lookup == PHYS_NEAREST) {
        MOMENTS.scatter(l->n, sites->place, p->w, p->per_f, scale, bar->f);
        return;
    }
    box = phys_box_from(0, a->view.box, anchor->whole);
    if (sites->by_cell) {
        lane_long_product(l->n, (real)weight, p->w, p->per_f, f_bars);
        add_cells(&box, l->n, &sites->in, f_bars, 2 * p->scale, p->cell_sums, bar->f);
        return;
    }
    find_nodes(&box, anchor, l, &nodes);
    for (int i = 0; i < l->n; i++) {
        const double f_bar = scale * (double)(p->w[i] * p->per_f[i]);

        if (nodes.corner[i] >= 0)
            give_nodes(&nodes, i, &box, f_bar, bar->f);
        else {
            const struct phys_vec3 x = phys_anchor_indices(anchor, step_of(l, i));

            bar->f[phys_f_place(0, &box, phys_lattice_point(spec, x))] += f_bar;
        }
    }
}

#endif
