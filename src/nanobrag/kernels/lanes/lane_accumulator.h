/*
 * lane_accumulator.h - where the backward steps of the lanes add their cotangents. The
 * adjoint sums these over the lanes of a tile. A Jacobian stores them for each lane apart:
 * if the photons of a pixel have the cotangent 1, its cotangents are a row of the Jacobian.
 * With this interface the steps in lane_back.h serve both; only the step of a pair of
 * source and orientation has two forms (lane_pair.h). The file is compiled with
 * lanes_vjp.c, once per instruction set and precision.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_LANES_LANE_ACCUMULATOR_H
#define NB_KERNELS_LANES_LANE_ACCUMULATOR_H

#include <stddef.h>

#include "kernels/derivatives/frame_adjoint.h"
#include "kernels/lanes/lane_columns.h"

/* The Jacobian of a tile while it is computed. */
struct rows {
    const struct tangents *along;
    struct columns *columns; /* NULL: no derivatives by structure factors */
    /* derivative of F^2 along each tangent, one source (n x TILE_PIXELS) */
    real *f2_change;
    double *change; /* derivatives along the tangents (n x TILE_PIXELS) */
    /* cotangents of the frame's numbers in each lane, only for numbers in along->numbers */
    _Alignas(64) wide number[PHYS_NUMBERS];
    /* struct phys_place_sums of the current layer, in each lane */
    _Alignas(64) wide place[3], fast[3], slow[3];
    _Alignas(64) lane strain[9]; /* cotangents of the strain under the current source */
    _Alignas(64) lane rotation_bar[3]; /* cotangent of the rotation of the current pair */
};

/* Returns 1 when number `at` (PHYS_AT_x) changes along some tangent. */
static int row_counts(const struct rows *r, int at)
{
    return (int)(r->along->numbers >> at & 1);
}

/* Returns 1 when some tangent strains the cell. */
static int rows_strain(const struct rows *r)
{
    return (r->along->numbers & phys_numbers_of(PHYS_STRAIN)) != 0;
}

/* Where cotangents are added: to sums over the lanes, or to rows of the Jacobian. */
struct accumulator {
    /* the sums, multiplied by cotangent.scale; used if rows is NULL */
    struct phys_frame_tangent *bar;
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

/* Returns 1 if no number of a source changes along a tangent. */
static int source_is_still(const struct phys_source *dot)
{
    return phys_source_inner(dot, dot) == 0;
}

/* Adds s a[i] of each lane i to the cotangent of a number; `at` is PHYS_AT_x. */
static void lane_add_number(const struct accumulator *to, const struct cotangent *p, int n,
                            int at, double s, const real *a)
{
    if (!to->rows)
        phys_numbers(to->bar)[at] += p->scale * s * MOMENTS.total(n, a);
    else if (row_counts(to->rows, at))
        lane_add_scaled(n, s, a, to->rows->number[at]);
}

/* Adds p->w times a[k], in each lane, to the cotangent of number at + k, k < count; `at` is
 * PHYS_AT_x. */
static void lane_add_products(const struct accumulator *to, const struct cotangent *p,
                              const struct lanes *l, int at, int count, real *const *a)
{
    double sums[FRAME_CRYSTAL];

    if (to->rows) {
        for (int k = 0; k < count; k++)
            if (row_counts(to->rows, at + k))
                lane_add_product(l->n, p->w, a[k], to->rows->number[at + k]);
        return;
    }
    MOMENTS.products(l->n, p->w, count, a, sums);
    for (int k = 0; k < count; k++) phys_numbers(to->bar)[at + k] += p->scale * sums[k];
}

/* Adds s a[i] times the cotangent of lane i's photons to the cotangent of a number. */
static void lane_add_wide(const struct accumulator *to, const struct cotangent *p, int n,
                          int at, double s, const double *restrict a)
{
    if (!to->rows) {
        phys_numbers(to->bar)[at] += s * MOMENTS.product(n, p->photons_bar, a);
        return;
    }
    for (int i = 0; row_counts(to->rows, at) && i < n; i++)
        to->rows->number[at][i] += s * a[i];
}

/* Returns 1 when derivatives by source `index` are needed. */
static int lane_source_counts(const struct accumulator *to, int index)
{
    if (!to->rows) return 1;
    for (int d = 0; d < to->rows->along->n; d++)
        if (!source_is_still(to->rows->along->dot[d].source + index)) return 1;
    return 0;
}

/* The indices of the members of struct phys_source among its numbers. */
enum {
    SOURCE_DIRECTION = 0,
    SOURCE_INVERSE_WAVELENGTH = 3,
    SOURCE_WEIGHT = 4,
    SOURCE_E = 5,
    SOURCE_B = 8
};

_Static_assert(offsetof(struct phys_source, b) == SOURCE_B * sizeof(double)
                   && PHYS_SOURCE_NUMBERS == SOURCE_B + 3,
               "the places are those of struct phys_source");

/* Adds p->term[k] to the cotangent of number k of source `index`, first <= k < first +
 * count. */
static void lane_add_source(const struct accumulator *to, int index, int first, int count,
                            int n, const struct cotangent *p)
{
    const int end = first + count;
    double *bar;

    for (int d = 0; to->rows && d < to->rows->along->n; d++) {
        const double *dot =
            (const double *)(const void *)(to->rows->along->dot[d].source + index);
        double *change = to->rows->change + (size_t)d * TILE_PIXELS;

        for (int k = first; k < end; k++)
            if (dot[k] != 0) lane_add_scaled(n, dot[k], p->term[k], change);
    }
    if (to->rows) return;
    bar = (double *)(void *)(to->bar->source + index);
    for (int k = first; k < end; k++) bar[k] += p->scale * MOMENTS.total(n, p->term[k]);
}

/* Returns 1 when derivatives by structure factors are needed. */
static int lane_counts_f(const struct accumulator *to)
{
    return to->rows ? to->rows->columns != NULL : to->bar->f != NULL;
}

/* Adds the derivatives by the structure factors of one source with orientation k. */
static void lane_add_f(struct phys_spec spec, const struct launch *a, int k,
                       const struct phys_anchor *anchor, const struct sites *sites,
                       const struct lanes *l, const struct cotangent *p,
                       const struct accumulator *to)
{
    if (to->rows)
        add_columns(spec, a, k, anchor, sites, l, p, to->rows->columns);
    else
        scatter_f(spec, a, a->frame->orientation[k].weight, anchor, sites, l, p, to->bar);
}

#endif
