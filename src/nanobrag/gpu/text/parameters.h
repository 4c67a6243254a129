/*
 * parameters.h - the parameters of the image kernels, in one struct. The struct stays at
 * one address of the device as long as a simulator lives, so that a recorded launch can be
 * repeated when only numbers in the struct have changed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_PARAMETERS_H
#define NB_GPU_TEXT_PARAMETERS_H

#include "physics/frame.h"

/* A block of threads computes a tile of GPU_FAST x GPU_SLOW pixels, one thread for each
 * pixel. The tiles lie on a fixed grid of the detector, as on the CPU; a tile of the CPU
 * covers two of these. */
enum {
    GPU_FAST = 16,
    GPU_SLOW = 8,
    SEGMENT = 1024 /* pairs of source and orientation that one block sums */
};

struct gpu_parameters {
    struct phys_frame frame; /* its lists are in device memory */
    double factor; /* value of phys_constant_factor() */
    /* A pair contributes exactly 0 if rho at the nearest lattice point exceeds `cut`; a
     * `cut` below 0 stands for no bound. A change of the scattering vector by 1/A changes
     * rho by at most `stretch`. */
    double cut, stretch;
    double edges; /* |a| + |b| + |c| over the shortest wavelength, for rounding errors */
    int roi[4];
    /* Pixel (s, f) of the frame has the index s stride + f in the mask and in images that
     * are compared with photons. If the frame is a panel, their pointers begin at the
     * panel's first pixel. */
    int stride;
    const unsigned char *mask; /* 0: not rendered; or NULL */
    int parts; /* parts of a tile along each axis, 1 or 2, each with its anchors */
    /* the tiles of a launch: `down` rows of `across` tiles; pixel where they begin */
    int first_fast, first_slow, across, down;
    int segments; /* ceil(nsource norientation / SEGMENT) */
    double *partial; /* ([tile][segment][thread]) Bragg sums */
    /* address of pixel (0, 0) in the image to be written, float32 or float64, even if the
     * memory begins with a later row; or NULL */
    void *image;
    int image_bits;
    long long image_stride[2]; /* elements: slow, fast */
    /* raised to the photons of the brightest pixel, as the bits of a double; non-negative
     * doubles and their bits have the same order; or NULL */
    unsigned long long *peak;
};

#endif
