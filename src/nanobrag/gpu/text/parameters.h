/*
 * parameters.h - what a kernel is given: one block of numbers, which lies at one address of
 * the device for as long as a simulator lives, so that a recorded launch may be repeated
 * when nothing but the numbers in it changed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_PARAMETERS_H
#define NB_GPU_TEXT_PARAMETERS_H

#include "physics/frame.h"

/* A block of threads computes a tile, a pixel for each thread. The grid is that of the
 * detector, as on the CPU, whose tiles are two of these. */
enum {
    GPU_FAST = 16,
    GPU_SLOW = 8,
    SEGMENT = 1024 /* pairs of source and orientation whose sum is one number */
};

struct gpu_parameters {
    struct phys_frame frame; /* its lists lie on the device */
    double factor; /* phys_constant_factor() */
    /* a pair whose lattice point lies farther than `cut` in rho adds nothing, to the bit;
     * below 0: no such bound. A step of the scattering vector of length 1/A changes rho by
     * `stretch` at most */
    double cut, stretch;
    double edges; /* |a| + |b| + |c| over the shortest wavelength */
    int roi[4];
    const unsigned char *mask; /* nslow x nfast, 0 = skip; or NULL */
    int parts; /* anchors of a tile along each axis, 1 or 2 */
    /* the tiles of a launch: `across` in a row, so many rows of them, from this pixel on */
    int first_fast, first_slow, across, down;
    int segments; /* of the pairs: ceil(nsource norientation / SEGMENT) */
    double *partial; /* ([tile][segment][thread]) */
    /* an image of the caller's, float32 or float64; or NULL */
    void *image;
    int image_bits;
    long long image_stride[2]; /* elements: slow, fast */
    double *
        photons; /* or NULL (rows of the launch x nfast), 0 where a pixel is not rendered */
};

#endif
