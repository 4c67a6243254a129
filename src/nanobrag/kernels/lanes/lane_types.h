/*
 * lane_types.h - the arrays that hold one tile in the lanes kernels and their adjoint, in
 * `real`. A lane is one element of a SIMD vector and stands for one pixel of the tile.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_LANES_LANE_TYPES_H
#define NB_KERNELS_LANES_LANE_TYPES_H

#include "kernels/kernels.h"
#include "physics/tile/patch.h"

/* One number for each pixel of a tile: `lane` in the precision of the kernel, `wide`
 * always in double. */
typedef real lane[TILE_PIXELS];
typedef double wide[TILE_PIXELS];

/* The state of a tile. It is small enough to stay in the first-level cache. A sample is
 * one sub-pixel at one depth; a patch (physics/tile/patch.h) counts positions from the
 * middle of the tile. */
struct lanes {
    int n; /* lanes in use */
    struct phys_patch patch;
    real radius; /* bound of a sample's direction minus the direction of the middle */
    double depth; /* depth of the patch below the front of the sensor, m */
    real sub_fast, sub_slow; /* offset of the sample from the pixel's corner, in
                                sub-pixels */
    int small; /* the result of phys_patch_is_small() */
    _Alignas(64) lane fast, slow; /* offset of the pixel's corner from the tile's middle, in
                                     sub-pixels */
    _Alignas(64) lane x, y, z; /* direction of the sample minus direction of the middle */
    _Alignas(64) lane ratio; /* distance of the sample over distance of the middle */
    /* solid angle and captured fraction of the sub-pixel, if not taken once per pixel */
    _Alignas(64) lane weight;
    _Alignas(64) lane share; /* weight of the sub-pixel under one source */
    _Alignas(64) lane sum; /* sum of F^2 over some orientations */
    _Alignas(64) wide bragg, amorphous;
    _Alignas(64) lane centre; /* amorphous photons, computed at the pixel's centre */
    _Alignas(64) lane omega, polarization, capture; /* factors evaluated once per pixel */
    _Alignas(64) lane lit; /* 1 once a sample has fixed the polarization */
};

enum { LANE_TERMS = PHYS_SOURCE_NUMBERS };

/* The additional state of the adjoint. L is the objective, the scalar whose gradient is
 * computed; the cotangent of x is dL/dx. All cotangents but photons_bar are divided by
 * `scale`, so that float can represent them. A pair is one source with one orientation. */
struct cotangent {
    wide photons_bar;
    double scale;
    _Alignas(64) lane objective; /* dL/d(the pixel's sum of weighted F^2) */
    /* for the source being processed: `fall` is the displacement factor, or 0 beyond dmin;
     * `polar` is the polarization */
    _Alignas(64) lane fall, polar;
    _Alignas(64) lane w; /* dL/dF^2 */
    _Alignas(64) lane x, y, z; /* dF^2/d(direction), summed over orientations */
    /* derivatives of the sum of F^2 by the crystal's numbers; the pointers lead into
     * own_crystal or into the workspace */
    real *crystal[FRAME_CRYSTAL];
    _Alignas(64) lane own_crystal[FRAME_CRYSTAL];
    /* for one pair: F^2 = (F_cell F_latt)^2, its derivatives by h, k, l and, unless F_cell
     * is constant, F_cell F_latt^2; the pointers lead into `pair` or into the workspace */
    real *f2, *gh, *gk, *gl, *per_f;
    _Alignas(64) lane pair[KEPT_OF_PAIR + 1];
    struct cell_sums *cell_sums; /* sums of an interpolated F (lane_tricubic_vjp.h) */
    /* the terms that a sample adds to the cotangents of a source or of a few numbers */
    _Alignas(64) lane term[LANE_TERMS];
    /* cotangents of a sample's direction, distance, weight and capture */
    _Alignas(64) lane dx, dy, dz, r, weight_bar, capture_bar;
};

#endif
