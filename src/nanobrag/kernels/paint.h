/*
 * paint.h - the two inner loops of the spot strategy: which reflections are near enough to
 * the Ewald sphere, and what they add to the samples about them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_PAINT_H
#define NB_KERNELS_PAINT_H

#include "physics/frame.h"
#include "physics/screen.h"
#include "physics/spec.h"

/* reflections: n of each index, padded to a multiple of PAINT_PAD that may be read */
enum { PAINT_PAD = 16 };

struct reflections {
    const float *h, *k, *l;
    int n;
};

/* one source seen by one orientation */
struct pairing {
    const struct phys_source *source;
    const double *axes, *stars; /* rows a, b, c and a*, b*, c* */
    double radius; /* of a spot in reciprocal space, 1/A */
    float margin; /* rounding of scan(), 1/A^2 */
    double weight; /* of the two */
};

/* The part of the detector that is painted, in samples of one layer. */
struct canvas {
    const struct phys_frame *frame;
    struct phys_screen screen;
    int layer;
    double depth;
    int fast[2], slow[2]; /* samples, ends excluded: all columns, a band of rows */
    const int *roi; /* fast0 fast1 slow0 slow1, pixels: what is wanted of it. It moves no
                       patch, and so no bits */
    double *bragg; /* nslow x nfast: sums of F^2 less constant factors */
};

/* Places in `list` of what lies within the radius of the sphere; returns how many. */
typedef int paint_scan(const struct pairing *pair, const struct reflections *list,
                       int *hits);

/* Add the n reflections of `list` at `hits` to the canvas. */
typedef void paint_spots(const struct canvas *canvas, const struct pairing *pair,
                         const struct reflections *list, const int *hits, int n);

struct painter {
    paint_scan *scan;
    paint_spots *spots[PHYS_SHAPES][PHYS_LOOKUPS];
};

#endif
