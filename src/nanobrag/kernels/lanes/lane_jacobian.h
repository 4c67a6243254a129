/*
 * lane_jacobian.h - the rows of the Jacobian of a tile. The adjoint in lanes_vjp.c sums
 * over the lanes; here each lane is stored by itself, and the photons of every pixel have
 * the cotangent 1. The file is compiled with lanes_vjp.c, once per instruction set and
 * precision.
 *
 * The cotangents of the frame's numbers are stored in each lane until the tile is done;
 * then the tangents multiply them. Cotangents of the sources and orientations would take a
 * number for each sample, so the tangents multiply these at once, sample by sample.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_LANES_LANE_JACOBIAN_H
#define NB_KERNELS_LANES_LANE_JACOBIAN_H

#include "kernels/lanes/lane_back.h"

/* Sets the rows of the numbers that change along the tangents to 0. */
static void clear_numbers(const struct tangents *along, struct rows *r)
{
    r->along = along;
    for (int m = 0; m < PHYS_NUMBERS; m++)
        if (row_counts(r, m)) memset(r->number[m], 0, sizeof r->number[m]);
}

static void start_jacobian(const struct tangents *along, void *workspace,
                           struct columns *columns, double *change, struct rows *r)
{
    clear_numbers(along, r);
    r->columns = columns;
    r->f2_change = workspace;
    r->change = change;
    memset(change, 0, (size_t)along->n * TILE_PIXELS * sizeof *change);
}

/* ---- a pixel ---- */

/* Multiplies the rows computed so far by a factor of each lane. */
static void scale_jacobian(const struct lanes *l, const double *restrict factor,
                           struct rows *r)
{
    for (int m = 0; m < PHYS_NUMBERS; m++)
        for (int i = 0; row_counts(r, m) && i < l->n; i++) r->number[m][i] *= factor[i];
    for (int d = 0; d < r->along->n; d++)
        for (int i = 0; i < l->n; i++) r->change[d * TILE_PIXELS + i] *= factor[i];
    for (int c = 0; r->columns && c < r->columns->n; c++)
        for (int i = 0; i < l->n; i++)
            r->columns->slope[(size_t)c * (size_t)l->n + (size_t)i] *= factor[i];
}

/* Multiplies the rows by the factors that are evaluated once per pixel, and adds the
 * derivatives of these factors. */
static void factors_jacobian(const struct launch *a, double factor, struct lanes *l,
                             struct cotangent *p, const struct accumulator *to)
{
    const struct phys_frame *frame = a->frame;
    const double bragg = factor * frame->bragg_scale;
    _Alignas(64) lane product = {0};
    double of_lane[TILE_PIXELS] = {0};

    if (!frame->each_polar && frame->polarised) {
        for (int i = 0; i < l->n; i++) of_lane[i] = (double)l->polarization[i];
        scale_jacobian(l, of_lane, to->rows);
        for (int i = 0; i < l->n; i++) product[i] = (real)l->bragg[i];
        first_polarization_back(a, product, l, p, to);
    }
    if (!frame->each_omega) {
        for (int i = 0; i < l->n; i++)
            product[i] = (real)(l->bragg[i] * (double)l->polarization[i]);
        first_omega_back(a, product, l, p, to);
    }
    for (int i = 0; i < l->n; i++)
        of_lane[i] = bragg * (double)l->omega[i] * (double)l->capture[i];
    scale_jacobian(l, of_lane, to->rows);
}

/* Adds the rows of the frame's numbers, times the tangents, to r->change. */
static void close_jacobian(const struct lanes *l, struct rows *r)
{
    for (int d = 0; d < r->along->n; d++) {
        const double *dot = (const double *)(const void *)(r->along->dot + d);
        double *restrict change = r->change + (size_t)d * TILE_PIXELS;

        for (int m = 0; m < PHYS_NUMBERS; m++) {
            const double along = dot[m];
            const double *restrict number = r->number[m];

            if (along == 0) continue;
#pragma omp simd
            for (int i = 0; i < l->n; i++) change[i] += along * number[i];
        }
    }
}

#endif
