/*
 * lane_places.h - the positions of a tile's samples, and the factors of a sample that
 * depend on its position alone. It is compiled with lanes.c and lanes_vjp.c, once per
 * instruction set and precision.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_LANES_LANE_PLACES_H
#define NB_KERNELS_LANES_LANE_PLACES_H

#include "kernels/grid.h"
#include "kernels/lanes/lane_types.h"
#include "physics/pixel.h"

/* The values that a kernel derives from the frame before it computes a tile. */
struct launch {
    const struct phys_frame *frame;
    const struct tile *tile;
    struct shown_pixels shown; /* the tile's rendered pixels; each has a lane */
    struct phys_view view;
    int weighted; /* 1: the weight of a sub-pixel differs between pixels or sub-pixels */
    int per_source; /* 1: some factor differs between sources and pixels */
    /* which pairs reach the tile (kernels/spots/reach.h); NULL: all may */
    const struct reach *reach;
    struct cells *cells; /* polynomials of an interpolated F (lane_tricubic.h) */
};

static struct launch launch_of(const struct phys_frame *frame, const struct tile *tile)
{
    struct launch a;

    a.reach = NULL;
    a.cells = NULL;
    a.frame = frame;
    a.tile = tile;
    grid_list(tile, &a.shown);
    a.view = phys_view(frame);
    a.weighted = phys_differs_by_sample(frame);
    a.per_source = phys_differs_by_source(frame);
    return a;
}

static void lane_fill(int n, real *restrict a, real value)
{
#pragma omp simd
    for (int i = 0; i < n; i++) a[i] = value;
}

static void lane_fill_wide(int n, double *restrict a, double value)
{
#pragma omp simd
    for (int i = 0; i < n; i++) a[i] = value;
}

static void lane_multiply(int n, real *restrict a, const real *restrict b)
{
#pragma omp simd
    for (int i = 0; i < n; i++) a[i] *= b[i];
}

#ifndef PHYS_SINGLE
/* Computes the positions on nanoBragg's curved detector. No patch makes this surface flat,
 * so each direction is computed by itself. Only double does this; float is never used
 * here. */
static void places_bent(const struct launch *a, real fast, real slow, real depth,
                        struct lanes *l)
{
    const struct phys_detector det = a->view.detector;
    const struct phys_patch patch = l->patch;

#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        const struct phys_point p =
            phys_point(&det, fast + l->fast[i], slow + l->slow[i], depth);

        l->x[i] = p.d.x - patch.d.x;
        l->y[i] = p.d.y - patch.d.y;
        l->z[i] = p.d.z - patch.d.z;
        l->ratio[i] = p.r / patch.distance;
    }
}
#endif

/* Computes the positions on the flat detector (docs/theory.md, 13). `fast` and `slow` are
 * the offsets of the sample from the corner of its pixel, in sub-pixels. */
PHYS_FN void places_flat(int small, real fast, real slow, struct lanes *l)
{
    const struct phys_patch patch = l->patch;

#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        const struct phys_place p =
            phys_patch_place(small, &patch, fast + l->fast[i], slow + l->slow[i]);

        l->x[i] = p.step.x;
        l->y[i] = p.step.y;
        l->z[i] = p.step.z;
        l->ratio[i] = p.ratio;
    }
}

/* Sets the patch of the tile at a depth, m, with its radius. */
static void place_patch(const struct launch *a, double depth, struct lanes *l)
{
    const struct tile *tile = a->tile;
    const int n = a->frame->oversample;

    l->depth = depth;
    l->patch = phys_patch_at(a->frame, n * (tile->fast + 0.5 * tile->width),
                             n * (tile->slow + 0.5 * tile->height), depth);
    /* A direction changes by less than the step over the distance of the middle, so half of
     * each edge would do. Twice that covers parts of the tile that are nearer. */
    l->radius = (real)n
                * ((real)tile->width * sqrt(phys_dot(l->patch.fast, l->patch.fast))
                   + (real)tile->height * sqrt(phys_dot(l->patch.slow, l->patch.slow)));
    l->small = phys_patch_is_small(&l->patch, (real)(n * tile->width) / 2,
                                   (real)(n * tile->height) / 2);
}

/* Assigns the pixels that `shown` lists to the lanes. */
static void take_listed(const struct launch *a, const struct shown_pixels *shown,
                        struct lanes *l)
{
    const struct tile *tile = a->tile;
    const real n = (real)a->frame->oversample, half = (real)0.5 * n;
    const real width = (real)tile->width, per_width = 1 / width;

    l->n = shown->lanes;
#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        const real pixel = (real)shown->pixel[i];
        const real row = floor((pixel + (real)0.5) * per_width);

        l->fast[i] = n * (pixel - row * width) - half * (real)tile->width;
        l->slow[i] = n * row - half * (real)tile->height;
    }
}

/* Assigns the rendered pixels of the tile to the lanes. */
static void take_tile(const struct launch *a, struct lanes *l)
{
    take_listed(a, &a->shown, l);
}

/* Writes how far sub-pixel `sub` of n x n, or the pixel's centre (sub = -1), lies from the
 * corner of its pixel, in sub-pixels. */
PHYS_FN void lane_sample_offset(int n, int sub, real *fast, real *slow)
{
    const int row = sub / n, column = sub - n * row;
    const real half = (real)0.5;

    *slow = sub < 0 ? half * (real)n : (real)row + half;
    *fast = sub < 0 ? half * (real)n : (real)column + half;
}

/* Computes the positions of sub-pixel `sub` of every pixel, or of the pixel's centre (sub =
 * -1), at a depth, m. */
static void lane_place_samples(const struct launch *a, int sub, double depth,
                               struct lanes *l)
{
    const int n = a->frame->oversample;
    real fast, slow;

    lane_sample_offset(n, sub, &fast, &slow);
#ifndef PHYS_SINGLE
    if (a->frame->surface == PHYS_CURVED_QUIRK) {
        const real half = (real)0.5;

        places_bent(a, fast + (real)n * (a->tile->fast + half * a->tile->width),
                    slow + (real)n * (a->tile->slow + half * a->tile->height), depth, l);
        return;
    }
#endif
    (void)depth;
    l->sub_fast = fast;
    l->sub_slow = slow;
    if (l->small)
        places_flat(1, fast, slow, l);
    else
        places_flat(0, fast, slow, l);
}

PHYS_FN struct phys_vec3 step_of(const struct lanes *l, int i)
{
    return phys_vec3(l->x[i], l->y[i], l->z[i]);
}

/* Multiplies each factor[i] by the solid angle of the sample (docs/theory.md, 3). */
static void times_omega(const struct launch *a, const struct lanes *l,
                        real *restrict factor)
{
    const struct phys_detector det = a->view.detector;
    const struct phys_patch patch = l->patch;

#pragma omp simd
    for (int i = 0; i < l->n; i++)
        factor[i] *= phys_solid_angle(&det, phys_patch_point(&patch, &det, step_of(l, i),
                                                             l->ratio[i]));
}

/* Sets each factor[i] to the fraction of photons that a layer captures (docs/theory.md,
 * 3). */
static void captures(const struct launch *a, const struct lanes *l, int layer,
                     real *restrict factor)
{
    const struct phys_detector det = a->view.detector;
    const struct phys_patch patch = l->patch;

#pragma omp simd
    for (int i = 0; i < l->n; i++)
        factor[i] =
            phys_capture(&det, phys_patch_point(&patch, &det, step_of(l, i), l->ratio[i]),
                         (real)layer);
}

/* Multiplies each factor[i] by the fraction of photons that a layer captures, if there is a
 * sensor. */
static void times_capture(const struct launch *a, const struct lanes *l, int layer,
                          real *restrict factor)
{
    _Alignas(64) lane capture;

    if (a->frame->layer_mu == 0) return;
    captures(a, l, layer, capture);
    lane_multiply(l->n, factor, capture);
}

#endif
