/*
 * lane_places.h - the first half of lanes.c: where the samples of a tile lie, and what
 * follows from that alone. Compiled with it, once per instruction set and precision.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_LANE_PLACES_H
#define NB_KERNELS_LANE_PLACES_H

#include "kernels/job.h"
#include "physics/patch.h"
#include "physics/pixel.h"

/* one number for each pixel of a tile */
typedef real lane[TILE_PIXELS];
typedef double wide[TILE_PIXELS];

/* what a tile needs: all of it stays in the innermost cache */
struct lanes {
    int n; /* lanes in use */
    struct phys_patch patch;
    real radius; /* no step is longer */
    _Alignas(64) lane x, y, z; /* direction of the sample, less that of the middle */
    _Alignas(64) lane ratio; /* its distance over that of the middle */
    _Alignas(64) lane weight; /* of the sub-pixel: flagged factors */
    _Alignas(64) lane share; /* of the sub-pixel and the source */
    _Alignas(64) lane sum; /* of F^2 over a chunk of orientations */
    _Alignas(64) wide bragg, amorphous;
    _Alignas(64) lane centre; /* photons of the amorphous part taken at the centre */
    _Alignas(64) lane omega, polarization, capture; /* factors that wait until the end */
    _Alignas(64) lane lit; /* 1 once a sample fixed the polarization */
};

/* what a launch makes of the frame before its first tile */
struct launch {
    const struct phys_frame *frame;
    const struct tile *tile;
    struct phys_view view;
    int weighted; /* the lanes of a sub-pixel differ in weight */
    int per_source; /* a factor of each source and lane */
};

static struct launch launch_of(const struct phys_frame *frame, const struct tile *tile)
{
    struct launch a;

    a.frame = frame;
    a.tile = tile;
    a.view = phys_view(frame);
    a.weighted = frame->each_omega || (frame->layer_mu != 0 && !frame->last_capture);
    a.per_source =
        frame->dmin > 0 || frame->b_factor != 0 || (frame->each_polar && frame->polarised);
    return a;
}

static void fill(int n, real *restrict a, real value)
{
#pragma omp simd
    for (int i = 0; i < n; i++) a[i] = value;
}

static void fill_wide(int n, double *restrict a, double value)
{
#pragma omp simd
    for (int i = 0; i < n; i++) a[i] = value;
}

static void multiply(int n, real *restrict a, const real *restrict b)
{
#pragma omp simd
    for (int i = 0; i < n; i++) a[i] *= b[i];
}

#ifndef PHYS_SINGLE
/* nanoBragg's curved detector is not flat in any coordinate, so its directions are made one
 * by one; in float a tile of it is done in double */
static void places_bent(const struct launch *a, real fast, real slow, real depth, int at,
                        struct lanes *l)
{
    const struct phys_detector det = a->view.detector;
    const real n = (real)a->frame->oversample;

#pragma omp simd
    for (int i = 0; i < a->tile->width; i++) {
        const struct phys_point p = phys_point(&det, fast + (real)i * n, slow, depth);

        l->x[at + i] = p.d.x - l->patch.d.x;
        l->y[at + i] = p.d.y - l->patch.d.y;
        l->z[at + i] = p.d.z - l->patch.d.z;
        l->ratio[at + i] = p.r / l->patch.distance;
    }
}
#endif

/* a row of the tile; offsets from its middle in sub-pixels */
static void places_flat(const struct launch *a, real fast, real slow, int at,
                        struct lanes *l)
{
    const struct phys_patch patch = l->patch;
    const real n = (real)a->frame->oversample;

#pragma omp simd
    for (int i = 0; i < a->tile->width; i++) {
        const struct phys_place p = phys_patch_place(&patch, fast + (real)i * n, slow);

        l->x[at + i] = p.step.x;
        l->y[at + i] = p.step.y;
        l->z[at + i] = p.step.z;
        l->ratio[at + i] = p.ratio;
    }
}

/* the patch of the tile at a depth */
static void place_patch(const struct launch *a, double depth, struct lanes *l)
{
    const struct tile *tile = a->tile;
    const int n = a->frame->oversample;
    struct phys_vec3 corner;

    l->patch = phys_patch_at(a->frame, n * (tile->fast + 0.5 * tile->width),
                             n * (tile->slow + 0.5 * tile->height), depth);
    /* twice half the diagonal: a direction turns by less than a step over the distance */
    corner = phys_axpy((real)(n * tile->width), l->patch.fast,
                       phys_scale((real)(n * tile->height), l->patch.slow));
    l->radius = 2 * sqrt(phys_dot(corner, corner));
}

/* sub-pixel `sub` of each pixel, or (-1) its centre, at a depth */
static void places(const struct launch *a, int sub, double depth, struct lanes *l)
{
    const struct tile *tile = a->tile;
    const int n = a->frame->oversample;
    const int sub_row = sub / n, sub_column = sub - n * sub_row;
    const real half = (real)0.5, middle_fast = half * (real)(n * tile->width),
               middle_slow = half * (real)(n * tile->height);
    const real in_slow = sub < 0 ? half * (real)n : (real)sub_row + half;
    const real in_fast = sub < 0 ? half * (real)n : (real)sub_column + half;

    for (int row = 0; row < tile->height; row++) {
        const real slow = (real)(row * n) + in_slow;
        const int at = row * tile->width;

#ifndef PHYS_SINGLE
        if (a->frame->surface == PHYS_CURVED_QUIRK) {
            places_bent(a, (real)tile->fast * (real)n + in_fast,
                        (real)tile->slow * (real)n + slow, depth, at, l);
            continue;
        }
#endif
        (void)depth;
        places_flat(a, in_fast - middle_fast, slow - middle_slow, at, l);
    }
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
