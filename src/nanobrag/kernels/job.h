/*
 * job.h - what one kernel launch gets: plain data, nothing that points into a scene.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_JOB_H
#define NB_KERNELS_JOB_H

#include <stdint.h>

#include "physics/frame.h"
#include "physics/spec.h"

/* Tiles lie on a fixed grid of the detector, whatever the ROI or the threads. */
enum { TILE_FAST = 32, TILE_SLOW = 8, TILE_PIXELS = TILE_FAST * TILE_SLOW };

/* pixels fast .. fast + width - 1, slow .. slow + height - 1; those outside the image are
 * computed and dropped */
struct tile {
    int fast, slow, width, height;
};

struct reach;

/* how threads share a launch; it changes no bit */
struct schedule {
    int threads; /* at most */
    int block; /* tiles, or chunks of them, that a thread takes at a time */
};

struct job {
    const struct phys_frame *frame;
    struct phys_spec spec;
    double tolerance; /* of the image's peak */
    int roi[4]; /* fast0 fast1 slow0 slow1, ends excluded */
    const uint8_t *mask; /* nslow x nfast, 0 = skip; NULL: none */
    double *photons; /* nslow x nfast; pixels that are not rendered become 0 */
    struct schedule schedule;
    int planned; /* 1: compiled mode chose spec and schedule */
    const char *mutated; /* an array that is input and output of the call; NULL: none */
    const struct reach *reach; /* pairs that reach a tile, for derivatives; NULL: all do */
};

#endif
