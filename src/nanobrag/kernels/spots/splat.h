/*
 * splat.h - the two inner loops of the spots strategy. The scan finds the reflections that
 * lie near the Ewald sphere; the splat of a reflection adds its contribution to the samples
 * around it on the detector.
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

/* A list of n reflections by their indices. The arrays are padded, so that a multiple of
 * SPLAT_PAD elements may be read. */
enum { SPLAT_PAD = 16 };

struct reflections {
    const float *h, *k, *l;
    int n;
};

/* A pair of one source and one orientation of the crystal. */
struct pair {
    const struct phys_source *source;
    const double *axes, *stars; /* rows a, b, c and a*, b*, c* */
    double radius; /* radius of a spot in reciprocal space, 1/A */
    double rho2; /* rho^2 of the profile at `radius` from a reflection. 0 if spots are not
                    narrow: a sample within `radius` of a reflection may then be nearer to
                    another one */
    float margin; /* rounding error of splat_kernels.scan, 1/A^2 */
    double weight; /* product of the two weights */
    int index, orientation; /* numbers of the source and of the orientation in the frame */
};

/* The part of one layer of a panel on which reflections are splatted, in samples. */
struct splat_layer {
    const struct phys_frame *frame;
    struct phys_detector_plane plane;
    int layer;
    double depth;
    int fast[2], slow[2]; /* samples, ends excluded: all columns of a strip of rows */
    const struct window
        *window; /* pixels of the panel to compute; it moves no patch and so changes no
                    bits. Spots may be splatted on all of its tiles */
    double *bragg; /* sums of F^2 without constant factors, of an image or packed */
    int packed; /* 1: bragg and the weights of an adjoint are packed (base/window.h) */
};

/* Writes to `hits` the places in `list` of the reflections that lie within the pair's
 * radius of the Ewald sphere, and returns their number. */
typedef int splat_scan(const struct pair *pair, const struct reflections *list, int *hits);

/* A rectangle of samples, ends excluded, that the spot of a reflection covers. */
struct outline {
    int fast[2], slow[2];
    int hit; /* index of the reflection in `hits` */
};

/* Writes the rectangles of samples that the spots of the first n (at most SPLAT_PAD)
 * reflections of `list` at `hits` cover. Spots outside the layer are left out. Returns the
 * number of rectangles. */
typedef int splat_outline(const struct splat_layer *splat_layer, const struct pair *pair,
                          const struct reflections *list, const int *hits, int n,
                          struct outline out[SPLAT_PAD]);

/* Splats the n reflections of `list` at `hits` on the layer. */
typedef void splat_spots(const struct splat_layer *splat_layer, const struct pair *pair,
                         const struct reflections *list, const int *hits, int n);

/* The cotangents of the Bragg sums in an adjoint. */
struct splat_weights {
    const double *weight; /* dL/d(sum of a pixel), like splat_layer.bragg */
    double scale, per_scale; /* largest weight and its inverse: weight * per_scale, at most
                                1, fits into a float */
    int lookup; /* PHYS_CONSTANT or PHYS_NEAREST */
    double *f; /* cotangent of the box of structure factors; NULL: not computed */
    int fixed; /* 1: sums of `square` and of places are not needed, and are 0 */
};

/* The sums of w F^2 and of its slopes over the samples of a pair, where w is the weight of
 * the sample's pixel times per_scale. The weight of the pair is not included. */
struct splat_sums {
    double f2, square; /* F^2, and F^2 times (q / k)^2 */
    double slope[3], moment[3][3]; /* slopes in h, k, l; and these times h, k, l */
    double crystal[FRAME_CRYSTAL];
    struct phys_place_sums at;
};

/* Writes the sums of the n reflections of `list` at `hits` to `sums`. Where the layer has
 * Bragg sums, the reflections are splatted on it too. */
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
