/*
 * raced_kernels.h - the GPU's kernels, a thread of the host for each of a block
 * (block_threads.h). Those of images, losses and noise take the place of emulated_kernels.c
 * and emulated_noise.c in a program that links them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_RACED_KERNELS_H
#define NB_TESTS_RACED_KERNELS_H

#include "emulation/jacobian_kernels.h"

/* Some of the variants, of class FEW and of structure factors. */
extern const struct jacobian_kernels raced_double, raced_single;

/* A mistake, and none: a thread reads what one of the next warp wrote in a step of warps,
 * without a step of the block between, and with one. Returns what thread 0 reads. */
int raced_wrong_warp(void);
int raced_right_warp(void);

/* Twice, 128 threads give 1 to the first place, and 16 of them 1 to the 64 nodes around a
 * sample, whose places are among the others. Adds to their counts, in millionths. */
enum { RACED_PLACES = 100 };
void raced_gifts(long long *count);

#endif
