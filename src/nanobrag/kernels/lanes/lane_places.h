/*
 * lane_places.h - the first half of lanes.c: where the samples of a tile lie, and what
 * follows from that alone. Compiled with it, once per instruction set and precision.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_LANES_LANE_PLACES_H
#define NB_KERNELS_LANES_LANE_PLACES_H

#include "kernels/lanes/lane_types.h"
#include "physics/pixel.h"

/* what a launch makes of the frame before its first tile */
struct launch {
    const struct phys_frame *frame;
    const struct tile *tile;
    struct phys_view view;
    int weighted; /* the lanes of a sub-pixel differ in weight */
    int per_source; /* a factor of each source and lane */
    const struct reach *reach; /* as in the job */
};

static struct launch launch_of(const struct phys_frame *frame, const struct tile *tile)
{
    struct launch a;

    a.reach = NULL;
    a.frame = frame;
    a.tile = tile;
    a.view = phys_view(frame);
    a.weighted = frame->each_omega || (frame->layer_mu != 0 && !frame->last_capture);
    a.per_source = frame->dmin > 0 || phys_is_displaced(frame)
                   || (frame->each_polar && frame->polarised);
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
/* nanoBragg's curved detector is not flat in any coordinate, so its directions are made one
 * by one; in float a tile of it is done in double */
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

/* `fast`, `slow`: of the sample from the corner of its pixel, in sub-pixels */
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

/* the patch of the tile at a depth */
static void place_patch(const struct launch *a, double depth, struct lanes *l)
{
    const struct tile *tile = a->tile;
    const int n = a->frame->oversample;

    l->depth = depth;
    l->patch = phys_patch_at(a->frame, n * (tile->fast + 0.5 * tile->width),
                             n * (tile->slow + 0.5 * tile->height), depth);
    /* half of each edge would do, as a direction turns by less than a step over the
     * distance; twice that, for the part of the tile that may lie nearer */
    l->radius = (real)n
                * ((real)tile->width * sqrt(phys_dot(l->patch.fast, l->patch.fast))
                   + (real)tile->height * sqrt(phys_dot(l->patch.slow, l->patch.slow)));
    l->small = phys_patch_is_small(&l->patch, (real)(n * tile->width) / 2,
                                   (real)(n * tile->height) / 2);
}

/* the lanes are all pixels of the tile, row after row */
static void take_tile(const struct launch *a, struct lanes *l)
{
    const struct tile *tile = a->tile;
    const real n = (real)a->frame->oversample, half = (real)0.5 * n;
    const real width = (real)tile->width, per_width = 1 / width;

    l->n = tile->width * tile->height;
#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        const real row = floor(((real)i + (real)0.5) * per_width);

        l->fast[i] = n * ((real)i - row * width) - half * width;
        l->slow[i] = n * row - half * (real)tile->height;
    }
}

/* sub-pixel `sub` of each pixel, or (-1) its centre, at a depth */
static void lane_place_samples(const struct launch *a, int sub, double depth,
                               struct lanes *l)
{
    const int n = a->frame->oversample;
    const int row = sub / n, column = sub - n * row;
    const real half = (real)0.5;
    const real slow = sub < 0 ? half * (real)n : (real)row + half;
    const real fast = sub < 0 ? half * (real)n : (real)column + half;

#ifndef PHYS_SINGLE
    if (a->frame->surface == PHYS_CURVED_QUIRK) {
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

static double depth_of(const struct launch *a, int layer)
{
    return a->frame->layer_offset + layer * a->frame->layer_step;
}

PHYS_FN struct phys_vec3 step_of(const struct lanes *l, int i)
{
    return phys_vec3(l->x[i], l->y[i], l->z[i]);
}

/* factor[i] *= solid angle of the sample */
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

/* factor[i] = captured fraction of the sample in a layer */
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

#endif
