/*
 * raced_kernels.h - some of the GPU's kernels, a thread of the host for each of a block
 * (block_threads.h). They take the place of those of emulated_kernels.c in a program that
 * links them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_RACED_KERNELS_H
#define NB_TESTS_RACED_KERNELS_H

#include "emulation/jacobian_kernels.h"

/* SQUARE NEAREST and SQUARE TRICUBIC, of class FEW and of structure factors. */
extern const struct jacobian_kernels raced_jacobian;

/* A mistake, and none: a thread reads what one of the next warp wrote in a step of warps,
 * without a step of the block between, and with one. Returns what thread 0 reads. */
int raced_wrong_warp(void);
int raced_right_warp(void);

#endif
