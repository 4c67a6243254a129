/*
 * splat.h - the two inner loops of the spots strategy. The scan finds the reflections that
 * lie near the Ewald sphere. To splat a reflection is to add its contribution to the
 * samples around its spot on the detector.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_SPOTS_SPLAT_H
#define NB_KERNELS_SPOTS_SPLAT_H

#include "base/window.h"
#include "kernels/derivatives/frame_adjoint.h"
#include "physics/frame.h"
#include "physics/spec.h"
#include "physics/tile/detector_plane.h"

/* A list of n reflections by their indices. The arrays are padded to a multiple of
 * SPLAT_PAD elements, which may be read. */
enum { SPLAT_PAD = 16 };

struct reflections {
    const float *h, *k, *l;
    int n;
};

/* A pair of one source and one orientation of the crystal. */
struct pair {
    const struct phys_source *source;
    const double *axes, *stars; /* rows a, b, c (A) and a*, b*, c* (1/A) */
    double radius; /* radius of a spot in reciprocal space, 1/A */
    double rho2; /* rho^2 of the profile at `radius` from a reflection; 0 if spots are not
                    narrow: then a sample within `radius` of a reflection may be nearer to
                    another reflection */
    float margin; /* bound of the rounding error of splat_kernels.scan, 1/A^2 */
    double weight; /* product of the weights of source and orientation */
    int index, orientation; /* indices of the source and of the orientation in the frame */
};

/* The part of one layer of a panel on which reflections are splatted. A sample here is a
 * sub-pixel of the layer. */
struct splat_layer {
    const struct phys_frame *frame;
    struct phys_detector_plane plane;
    int layer;
    double depth; /* depth of the layer below the front of the sensor, m */
    int fast[2], slow[2]; /* samples, ends excluded: all columns of a strip of rows */
    /* the pixels that must be computed; spots may be splatted on other pixels of its tiles
     * too. The window changes no patch and therefore no bits */
    const struct window *window;
    double *bragg; /* sums of F^2 without constant factors, of an image or packed */
    int packed; /* 1: bragg and the weights of an adjoint are packed (base/window.h) */
};

/* Finds the reflections of `list` within the pair's radius of the Ewald sphere. Writes
 * their places in `list` to `hits` and returns their number. */
typedef int splat_scan(const struct pair *pair, const struct reflections *list, int *hits);

/* A rectangle of samples, ends excluded, that the spot of a reflection covers. */
struct outline {
    int fast[2], slow[2];
    int hit; /* the spot is of the reflection list[hits[hit]] of splat_outline() */
};

/* Writes the rectangles of samples that spots cover: the spots of the reflections
 * list[hits[i]], i < n and i < SPLAT_PAD. Spots outside the layer are left out. Returns the
 * number of rectangles. */
typedef int splat_outline(const struct splat_layer *splat_layer, const struct pair *pair,
                          const struct reflections *list, const int *hits, int n,
                          struct outline out[SPLAT_PAD]);

/* Splats the n reflections list[hits[i]] on the layer. */
typedef void splat_spots(const struct splat_layer *splat_layer, const struct pair *pair,
                         const struct reflections *list, const int *hits, int n);

/* The cotangents of the Bragg sums in an adjoint. */
struct splat_weights {
    const double *weight; /* dL/d(sum of a pixel), in the same order as splat_layer.bragg */
    double scale, per_scale; /* the largest weight and its inverse; weight * per_scale is at
                                most 1 and so fits into a float */
    int lookup; /* PHYS_CONSTANT or PHYS_NEAREST */
    double *f; /* cotangent of the box of structure factors; NULL: not wanted */
    int fixed; /* 1: splat_sums.square and .at are not wanted, and become 0 */
};

/* The sums of w F^2 and of its slopes over the samples of a pair, where w is the weight of
 * the sample's pixel times per_scale. F^2 is without the weight of the pair. */
struct splat_sums {
    double f2, square; /* sums of w F^2, and of w F^2 (q / k)^2 */
    double slope[3], moment[3][3]; /* slopes in h, k, l; and slope i times index j */
    double crystal[FRAME_CRYSTAL]; /* slopes in the numbers of frame_crystal() */
    struct phys_place_sums at; /* slopes in the places of the samples */
};

/* Writes the sums over the spots of the n reflections list[hits[i]] to `sums`. If
 * splat_layer.bragg is not NULL, the reflections are splatted, too. */
typedef void splat_spots_vjp(const struct splat_layer *splat_layer, const struct pair *pair,
                             const struct reflections *list, const int *hits, int n,
                             const struct splat_weights *weights, struct splat_sums *sums);

struct splat_vjp_kernels {
    splat_spots_vjp *spots[PHYS_SHAPES];
};

struct splat_kernels {
    splat_scan *scan;
    splat_outline *outline;
    splat_spots *spots[PHYS_SHAPES][PHYS_LOOKUPS];
};

#endif
