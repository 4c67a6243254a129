/*
 * pixel_factors.h - solid angle and polarization, the factors that are evaluated once per
 * pixel, and their slopes. It is compiled with spot_rows.c and continuous_tile.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_SPOTS_ROWS_PIXEL_FACTORS_H
#define NB_KERNELS_SPOTS_ROWS_PIXEL_FACTORS_H

#include "kernels/kernels.h"
#include "kernels/spots/rows/spot_rows.h"
#include "physics/pixel.h"
#include "physics/tile/patch.h"

/* One number for each pixel. */
typedef double of_slots[TILE_PIXELS];

struct factors {
    of_slots fast, slow; /* place of the sample, in sub-pixels from the detector's corner */
    of_slots bright; /* photons over solid angle and polarization */
    of_slots v[3]; /* cotangent of the sample's place */
    of_slots d[3], r, per_ratio; /* direction, distance (m), and phys_place.per_ratio */
    of_slots omega, polar; /* solid angle and polarization */
    of_slots plain; /* omega times polar */
    of_slots kahn; /* slope of the polarization by Kahn's factor K */
};

/* A part of a tile whose factors are computed. */
struct factored {
    const struct phys_frame *frame;
    struct tile part;
    struct phys_patch patch;
    int small; /* the result of phys_patch_is_small() */
    int n; /* pixels */
};

/* Finds the patch of the part. */
static void place_factors(struct factored *a)
{
    const double over = a->frame->oversample;
    const double width = over * a->part.width, height = over * a->part.height;

    a->patch =
        phys_patch_at(a->frame, over * a->part.fast + 0.5 * width,
                      over * a->part.slow + 0.5 * height, phys_layer_depth(a->frame, 0));
    a->small = phys_patch_is_small(&a->patch, 0.5 * width, 0.5 * height);
}

/* Computes the directions and distances of the samples. */
PHYS_FN void find_points(int small, const struct factored *a, struct factors *restrict x)
{
    const struct phys_detector det = phys_detector(a->frame);
    const struct phys_patch patch = a->patch;
    const double fast = a->frame->oversample * (a->part.fast + 0.5 * a->part.width);
    const double slow = a->frame->oversample * (a->part.slow + 0.5 * a->part.height);

#pragma omp simd
    for (int j = 0; j < a->n; j++) {
        const struct phys_place at =
            phys_patch_place(small, &patch, x->fast[j] - fast, x->slow[j] - slow);
        const struct phys_point point = phys_patch_point(&patch, &det, at.step, at.ratio);

        x->d[0][j] = point.d.x, x->d[1][j] = point.d.y, x->d[2][j] = point.d.z;
        x->r[j] = point.r;
        x->per_ratio[j] = at.per_ratio;
    }
}

/* Computes the solid angles. gcc vectorises them only in a loop of their own. */
static void find_omegas(const struct factored *a, struct factors *restrict x)
{
    const struct phys_detector det = phys_detector(a->frame);

#pragma omp simd
    for (int j = 0; j < a->n; j++) {
        const struct phys_point point = {phys_vec3(0, 0, 0), x->r[j]};

        x->omega[j] = phys_solid_angle(&det, point);
    }
}

/* Computes polarization and slopes, from `bright` and the solid angles. */
static void find_slopes(const struct factored *a, struct factors *restrict x)
{
    const struct phys_frame *frame = a->frame;
    const struct phys_source *source = frame->source;
    const struct phys_vec3 incident = phys_load(source->direction);
    const struct phys_vec3 e = phys_load(source->e), b = phys_load(source->b);
    const double kahn = frame->kahn, per_r = 1 / a->patch.distance;
    const double on = frame->polarised ? 1 : 0;
    const double power = frame->surface == PHYS_CURVED ? 0 : frame->point_pixel ? -2 : -3;

#pragma omp simd
    for (int j = 0; j < a->n; j++) {
        const struct phys_vec3 d = phys_vec3(x->d[0][j], x->d[1][j], x->d[2][j]);
        const struct phys_polarization_slopes s =
            phys_polarization_slopes(kahn, incident, e, b, d);
        const double polar = on * phys_polarization(kahn, incident, e, b, d) + (1 - on);
        const double plain = x->omega[j] * polar;
        const struct phys_vec3 dd = phys_scale(on * x->omega[j] * x->bright[j], s.dd);
        const double along = power * plain * x->bright[j] - phys_dot(d, dd);
        const struct phys_vec3 v =
            phys_scale(per_r * x->per_ratio[j], phys_axpy(along, d, dd));

        x->polar[j] = polar;
        x->plain[j] = plain;
        x->kahn[j] = s.dkahn;
        x->v[0][j] = v.x, x->v[1][j] = v.y, x->v[2][j] = v.z;
    }
}

/* Fills in all members except fast, slow and bright. */
static void find_factors(const struct factored *a, struct factors *x)
{
    if (a->small)
        find_points(1, a, x);
    else
        find_points(0, a, x);
    find_omegas(a, x);
    find_slopes(a, x);
}

/* Returns the derivative of a pixel's polarization along a tangent. */
PHYS_FN double polar_change(const struct phys_frame *frame, const struct row_factor *along,
                            const struct factors *x, int j)
{
    const struct phys_source *source = frame->source;
    const struct phys_vec3 d = phys_vec3(x->d[0][j], x->d[1][j], x->d[2][j]);
    const struct phys_vec3 incident = phys_load(source->direction);
    const struct phys_vec3 e = phys_load(source->e), b = phys_load(source->b);
    const struct phys_vec3 di = phys_load(along->source.direction);
    const struct phys_vec3 de = phys_load(along->source.e);
    const struct phys_vec3 db = phys_load(along->source.b);

    return along->kahn * x->kahn[j] + phys_dot(incident, d) * phys_dot(di, d)
           - frame->kahn
                 * (phys_dot(e, d) * phys_dot(de, d) - phys_dot(b, d) * phys_dot(db, d));
}

#endif
