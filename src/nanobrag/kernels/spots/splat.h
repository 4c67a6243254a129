/*
 * splat.h - the two inner loops of the spot strategy: which reflections are near enough to
 * the Ewald sphere, and what they add to the samples about them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_SPOTS_SPLAT_H
#define NB_KERNELS_SPOTS_SPLAT_H

#include "kernels/derivatives/frame_adjoint.h"
#include "physics/detector_plane.h"
#include "physics/frame.h"
#include "physics/spec.h"

/* reflections: n of each index, padded to a multiple of SPLAT_PAD that may be read */
enum { SPLAT_PAD = 16 };

struct reflections {
    const float *h, *k, *l;
    int n;
};

/* one source seen by one orientation */
struct pair {
    const struct phys_source *source;
    const double *axes, *stars; /* rows a, b, c and a*, b*, c* */
    double radius; /* of a spot in reciprocal space, 1/A */
    float margin; /* rounding of scan(), 1/A^2 */
    double weight; /* of the two */
    int index, orientation; /* their places in the frame */
};

/* The part of the detector that is painted, in samples of one layer. */
struct splat_area {
    const struct phys_frame *frame;
    struct phys_detector_plane plane;
    int layer;
    double depth;
    int fast[2], slow[2]; /* samples, ends excluded: all columns, a band of rows */
    const int *roi; /* fast0 fast1 slow0 slow1, pixels: what is wanted of it. It moves no
                       patch, and so no bits */
    double *bragg; /* nslow x nfast: sums of F^2 less constant factors */
};

/* Places in `list` of what lies within the radius of the sphere; returns how many. */
typedef int splat_scan(const struct pair *pair, const struct reflections *list, int *hits);

/* a rectangle of samples, ends excluded */
struct outline {
    int fast[2], slow[2];
};

/* Where the spots of the reflections of `list` at `hits` reach the area: of the first
 * SPLAT_PAD of them, if there are so many. Returns how many do. */
typedef int splat_outline(const struct splat_area *splat_area, const struct pair *pair,
                          const struct reflections *list, const int *hits, int n,
                          struct outline out[SPLAT_PAD]);

/* Add the n reflections of `list` at `hits` to the area. */
typedef void splat_spots(const struct splat_area *splat_area, const struct pair *pair,
                         const struct reflections *list, const int *hits, int n);

/* what pulls on the Bragg sums in an adjoint */
struct splat_weights {
    const double *weight; /* nslow x nfast: what the number at the end changes by with the
                             sum of a pixel */
    double scale, per_scale; /* weights times per_scale, at most 1, fit into a float */
    int lookup; /* constant or nearest */
    double *f; /* cotangent of the box; NULL: nobody asks for it */
};

/* sums of w F^2 and of its slopes over the samples of a pair, w the weight times per_scale:
 * the weight of the pair is left out */
struct splat_sums {
    double f2, square; /* times the square of the scattering vector, over that of the wave
                          vector */
    double slope[3], moment[3][3]; /* in h, k, l; and these times h, k, l */
    double crystal[FRAME_CRYSTAL];
    struct phys_place_sums at;
};

/* What pulls on the reflections to `sums`; and, unless the area has no Bragg sums, the
 * reflections themselves added to these. */
typedef void splat_back(const struct splat_area *splat_area, const struct pair *pair,
                        const struct reflections *list, const int *hits, int n,
                        const struct splat_weights *objective, struct splat_sums *sums);

struct splat_vjp_kernels {
    splat_back *spots[PHYS_SHAPES];
};

struct splat_kernels {
    splat_scan *scan;
    splat_outline *outline;
    splat_spots *spots[PHYS_SHAPES][PHYS_LOOKUPS];
};

#endif
