/*
 * lane_accumulator.h - the destination of the lanes' cotangents. The adjoint sums them
 * over the lanes of a tile. A Jacobian stores those of each lane separately: they are the
 * row of a pixel when its photons have the cotangent 1. With this one interface the
 * backward steps in lane_back.h are written only once. The file is compiled with
 * lanes_vjp.c, once per instruction set and precision.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_LANES_LANE_ACCUMULATOR_H
#define NB_KERNELS_LANES_LANE_ACCUMULATOR_H

#include "kernels/derivatives/frame_adjoint.h"
#include "kernels/derivatives/tile_jacobian.h"
#include "kernels/lanes/lane_slopes.h"

struct rows {
    const struct tangents *along;
    struct columns *columns; /* NULL: no derivatives by structure factors */
    real *own; /* change of F^2 along each tangent, one source (n x TILE_PIXELS) */
    double *change; /* derivatives along the tangents (n x TILE_PIXELS) */
    int strained; /* 1: some tangent strains the cell */
    _Alignas(64) wide number[PHYS_NUMBERS]; /* cotangents of the frame's numbers */
    _Alignas(64) wide place[3], fast[3],
        slow[3]; /* struct phys_place_sums of the current layer */
    _Alignas(64) lane strain[9]; /* of the current source */
    _Alignas(64) lane rotation_bar[3]; /* cotangent of the rotation of the current pair */
};

/* The rows of a member of the frame, or of each of its elements. */
#define NUMBER(rows, member) ((rows)->number + PHYS_AT_##member)

/* The destination: sums over the lanes, or rows of the Jacobian. */
struct accumulator {
    struct phys_frame_tangent
        *bar; /* sums, multiplied by cotangent.scale; used if rows is NULL */
    struct rows *rows; /* NULL: cotangents are summed */
};

/* Adds s a[i] to to[i]. */
static void lane_add_scaled(int n, double s, const real *restrict a, double *restrict to)
{
#pragma omp simd
    for (int i = 0; i < n; i++) to[i] += s * (double)a[i];
}

/* Adds a[i] b[i] to to[i]. */
static void lane_add_product(int n, const real *restrict a, const real *restrict b,
                             double *restrict to)
{
#pragma omp simd
    for (int i = 0; i < n; i++) to[i] += (double)(a[i] * b[i]);
}

static int source_is_still(const struct phys_source *dot)
{
    return phys_source_inner(dot, dot) == 0;
}

/* Adds s a[i] of each lane to the cotangent of a number; `at` is PHYS_AT_x. */
static void lane_add_number(const struct accumulator *to, const struct cotangent *p, int n,
                            int at, double s, const real *a)
{
    if (to->rows)
        lane_add_scaled(n, s, a, to->rows->number[at]);
    else
        phys_numbers(to->bar)[at] += p->scale * s * MOMENTS.total(n, a);
}

/* Returns 1 when derivatives by source `index` are needed. */
static int lane_source_counts(const struct accumulator *to, int index)
{
    if (!to->rows) return 1;
    for (int d = 0; d < to->rows->along->n; d++)
        if (!source_is_still(to->rows->along->dot[d].source + index)) return 1;
    return 0;
}

/* Adds p->term to the cotangents of direction, e and b of a source. */
static void lane_add_source(const struct accumulator *to, int index, int n,
                            const struct cotangent *p)
{
    struct phys_source *source;

    for (int d = 0; to->rows && d < to->rows->along->n; d++) {
        const struct phys_source *dot = to->rows->along->dot[d].source + index;
        double *change = to->rows->change + (size_t)d * TILE_PIXELS;

        if (source_is_still(dot)) continue;
        for (int k = 0; k < 3; k++) {
            lane_add_scaled(n, dot->direction[k], p->term[k], change);
            lane_add_scaled(n, dot->e[k], p->term[3 + k], change);
            lane_add_scaled(n, dot->b[k], p->term[6 + k], change);
        }
    }
    if (to->rows) return;
    source = to->bar->source + index;
    for (int k = 0; k < 3; k++) {
        source->direction[k] += p->scale * MOMENTS.total(n, p->term[k]);
        source->e[k] += p->scale * MOMENTS.total(n, p->term[3 + k]);
        source->b[k] += p->scale * MOMENTS.total(n, p->term[6 + k]);
    }
}

#endif
