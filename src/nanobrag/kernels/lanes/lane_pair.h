/*
 * lane_pair.h - the backward step of one pair of source and orientation: from the
 * derivatives of its F^2 to its orientation, to the strain and to the lanes' directions.
 * Only this step has different formulas for sums over lanes and for rows of a Jacobian. It
 * is compiled with lanes_vjp.c, once per instruction set and precision.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_LANES_LANE_PAIR_H
#define NB_KERNELS_LANES_LANE_PAIR_H

#include "kernels/lanes/lane_accumulator.h"

/* ---- sums over the lanes ---- */

/* Adds the sums over the lanes to the cotangents of orientation k and of the strain. */
static void pair_sums(const struct phys_frame *frame, const struct aim *aim, int k,
                      const struct lanes *l, const struct cotangent *p,
                      struct phys_frame_tangent *bar)
{
    const double *axes = frame->orientation[k].axes;
    const double unit = aim->source->inverse_wavelength;
    const double scale = frame->orientation[k].weight * p->scale;
    const struct pair_moments sums = MOMENTS.pair(l, p);
    double axis_bar[3][3];

    bar->rotation[k].weight += p->scale * (double)sums.f2;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            axis_bar[r][c] =
                scale * (aim->q[c] * (double)sums.slope[r] + unit * (double)sums.by[r][c]);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            const double *axis = axes + (size_t)3 * (size_t)c;

            bar->strain[3 * r + c] += axis_bar[r][0] * axis[0] + axis_bar[r][1] * axis[1]
                                      + axis_bar[r][2] * axis[2];
        }
    for (int r = 0; r < 3; r++)
        frame_adjoint_rotation(axes + (size_t)3 * (size_t)r, axis_bar[r],
                               bar->rotation + k);
}

/* ---- rows of the Jacobian ---- */

/* Adds to the cotangent of the strain. A strain changes axis i by the sum over j of
 * strain[i][j] times axis j, so the derivative by strain[i][j] is the derivative by index
 * i, times index j. */
static void add_strain(const struct phys_anchor *of, real weight,
                       const struct lanes *restrict l, const struct cotangent *restrict p,
                       struct rows *restrict r)
{
    const struct phys_anchor at = *of;
    const real *restrict gh = p->gh, *restrict gk = p->gk, *restrict gl = p->gl;

#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        const struct phys_vec3 x =
            phys_axpy(1, at.whole, phys_anchor_indices(&at, step_of(l, i)));
        const real h = weight * gh[i], k = weight * gk[i], m = weight * gl[i];

        r->strain[0][i] += h * x.x, r->strain[1][i] += h * x.y, r->strain[2][i] += h * x.z;
        r->strain[3][i] += k * x.x, r->strain[4][i] += k * x.y, r->strain[5][i] += k * x.z;
        r->strain[6][i] += m * x.x, r->strain[7][i] += m * x.y, r->strain[8][i] += m * x.z;
    }
}

/* Computes the cotangent of a rotation of the orientation: the cross product of
 * dF^2/d(scattering vector) and the scattering vector. */
static void find_rotation_bar(const struct phys_axes *of, const struct phys_source *source,
                              const struct lanes *restrict l,
                              const struct cotangent *restrict p, struct rows *restrict r)
{
    const struct phys_axes axes = *of;
    const struct phys_vec3 mid = phys_axpy(-1, phys_load(source->direction), l->patch.d);
    const real *restrict gh = p->gh, *restrict gk = p->gk, *restrict gl = p->gl;

#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        const struct phys_vec3 slope =
            phys_axpy(gh[i], axes.a, phys_axpy(gk[i], axes.b, phys_scale(gl[i], axes.c)));
        const struct phys_vec3 rotation_bar =
            phys_cross(slope, phys_axpy(1, mid, step_of(l, i)));

        r->rotation_bar[0][i] = rotation_bar.x;
        r->rotation_bar[1][i] = rotation_bar.y;
        r->rotation_bar[2][i] = rotation_bar.z;
    }
}

/* Adds the change of F^2 by a rotation and by the weight of an orientation to `change`. */
static void add_rotation(const struct phys_rotation *rotation, real weight, int n,
                         const struct cotangent *restrict p, const struct rows *restrict r,
                         real *restrict change)
{
    const struct phys_vec3 by = phys_scale(weight, phys_load(rotation->by));
    const real more = (real)rotation->weight;
    const real *restrict f2 = p->f2;

#pragma omp simd
    for (int i = 0; i < n; i++)
        change[i] += by.x * r->rotation_bar[0][i] + by.y * r->rotation_bar[1][i]
                     + by.z * r->rotation_bar[2][i] + more * f2[i];
}

static int rotation_is_still(const struct phys_rotation *t)
{
    return t->by[0] == 0 && t->by[1] == 0 && t->by[2] == 0 && t->weight == 0;
}

/* Adds the contribution of orientation k to the cotangent of the strain, and to the changes
 * of F^2 along the tangents that rotate k or change its weight. */
static void pair_rows(const struct phys_frame *frame, const struct aim *aim, int k,
                      const struct phys_anchor *anchor, const struct lanes *l,
                      const struct cotangent *p, struct rows *r)
{
    const real weight = (real)frame->orientation[k].weight;
    int has_rotation_bar = 0;

    if (rows_strain(r)) add_strain(anchor, weight, l, p, r);
    for (int d = 0; d < r->along->n; d++) {
        const struct phys_rotation *rotation = r->along->dot[d].rotation + k;

        if (!r->along->rotates[d] || rotation_is_still(rotation)) continue;
        if (!has_rotation_bar) find_rotation_bar(&anchor->axes, aim->source, l, p, r);
        has_rotation_bar = 1;
        add_rotation(rotation, weight, l->n, p, r, r->f2_change + (size_t)d * TILE_PIXELS);
    }
}

/* ---- a source ---- */

/* Sets the sums over the orientations under one source to 0. */
static void start_pairs(const struct accumulator *to, struct lanes *l, struct cotangent *p)
{
    struct rows *r = to->rows;

    lane_fill(l->n, p->x, 0);
    lane_fill(l->n, p->y, 0);
    lane_fill(l->n, p->z, 0);
    if (!r) return;
    for (int k = 0; rows_strain(r) && k < 9; k++) lane_fill(l->n, r->strain[k], 0);
    for (int d = 0; d < r->along->n; d++)
        if (r->along->rotates[d])
            lane_fill(l->n, r->f2_change + (size_t)d * TILE_PIXELS, 0);
}

/* Adds the derivatives of orientation k under one source to the sums. */
static void pair_back(const struct phys_frame *frame, const struct aim *aim, int k,
                      const struct phys_anchor *anchor, const struct lanes *l,
                      struct cotangent *p, const struct accumulator *to)
{
    add_direction(&anchor->axes, (real)frame->orientation[k].weight, l->n, p);
    if (to->rows)
        pair_rows(frame, aim, k, anchor, l, p, to->rows);
    else
        pair_sums(frame, aim, k, l, p, to->bar);
}

/* Adds the sums over the orientations under one source to the rows of the strain and of the
 * tangents that rotate orientations. An adjoint has nothing to add here. */
static void close_pairs(const struct accumulator *to, const struct lanes *l,
                        const struct cotangent *p)
{
    struct rows *r = to->rows;

    if (!r) return;
    for (int k = 0; rows_strain(r) && k < 9; k++)
        if (row_counts(r, PHYS_AT_strain + k))
            lane_add_product(l->n, p->w, r->strain[k], r->number[PHYS_AT_strain + k]);
    for (int d = 0; d < r->along->n; d++)
        if (r->along->rotates[d])
            lane_add_product(l->n, p->w, r->f2_change + (size_t)d * TILE_PIXELS,
                             r->change + (size_t)d * TILE_PIXELS);
}

#endif
