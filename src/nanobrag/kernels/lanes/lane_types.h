/*
 * lane_types.h - what lanes.c and its adjoint keep of a tile, in `real`.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_LANES_LANE_TYPES_H
#define NB_KERNELS_LANES_LANE_TYPES_H

#include "kernels/kernels.h"
#include "physics/tile/patch.h"

/* one number for each pixel of a tile */
typedef real lane[TILE_PIXELS];
typedef double wide[TILE_PIXELS];

/* what a tile needs: all of it stays in the innermost cache */
struct lanes {
    int n; /* lanes in use */
    struct phys_patch patch;
    real radius; /* no step is longer */
    double depth; /* of the patch below the front of the sensor, m */
    real sub_fast, sub_slow; /* the sample in its pixel, sub-pixels */
    int small; /* phys_patch_is_small() */
    _Alignas(64) lane fast, slow; /* corner of the pixel from the middle, sub-pixels */
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

enum { LANE_TERMS = 9 }; /* vectors of a source: direction, e, b */

/* what its adjoint needs besides */
struct cotangent {
    wide photons_bar;
    double scale;
    _Alignas(64) lane objective; /* cotangent of the pixel's sum of weighted F^2 */
    /* under a source */
    _Alignas(64) lane fall, polar; /* displacement and dmin; polarization of each sample */
    _Alignas(64) lane w; /* cotangent of F^2 */
    _Alignas(64) lane x, y, z; /* sum of slopes of F^2 in the direction of the sample */
    /* sums of slopes of F^2: lanes of `own_crystal`, or kept */
    real *crystal[FRAME_CRYSTAL];
    _Alignas(64) lane own_crystal[FRAME_CRYSTAL];
    /* of a pair, lanes of `pair`, or kept: F^2 and its slopes in h, k, l; where F is looked
     * up, F^2 over F too */
    real *f2, *gh, *gk, *gl, *per_f;
    _Alignas(64) lane pair[KEPT_OF_PAIR + 1];
    /* cotangents that a sample adds to a few members of the frame or of a source */
    _Alignas(64) lane term[LANE_TERMS];
    /* of a sample: cotangents */
    _Alignas(64) lane dx, dy, dz, r, weight_bar, capture_bar;
};

#endif
