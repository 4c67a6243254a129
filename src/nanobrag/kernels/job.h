/*
 * job.h - the arguments of one kernel launch: plain data without pointers into a scene.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_JOB_H
#define NB_KERNELS_JOB_H

#include <stdint.h>

#include "physics/frame.h"
#include "physics/spec.h"

/* Tiles lie on a fixed grid of the detector, which depends neither on the ROI nor on the
 * number of threads. */
enum { TILE_FAST = 32, TILE_SLOW = 8, TILE_PIXELS = TILE_FAST * TILE_SLOW };

/* A rectangle of pixels: fast .. fast + width - 1 by slow .. slow + height - 1. Kernels
 * compute its pixels outside the image too, and their values are discarded. */
struct tile {
    int fast, slow, width, height;
};

struct reach;

/* How threads share a launch. It changes no bit of the result. */
struct schedule {
    int threads; /* largest number of threads */
    int block; /* tiles, or chunks of tiles, assigned to a thread at a time */
};

struct job {
    const struct phys_frame *frame;
    struct phys_spec spec;
    double tolerance; /* largest error allowed, as a fraction of the image's peak */
    int roi[4]; /* fast0 fast1 slow0 slow1, ends excluded */
    const uint8_t *mask; /* nslow x nfast, 0 = skip; NULL: none */
    double *photons; /* nslow x nfast; pixels that are not rendered become 0 */
    struct schedule schedule;
    int planned; /* 1: the compiled mode chose spec and schedule */
    const char *mutated; /* name of an array that is both input and output of the call;
                            NULL: none */
    const struct reach *reach; /* pairs of source and orientation that reach a tile, used by
                                derivatives; NULL: all do */
    int amorphous_fixed; /* what of the amorphous photons no free parameter changes (enum
                            phys_fixed): the lanes compute no cotangents of it */
};

#endif
