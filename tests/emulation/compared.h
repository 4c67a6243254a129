/*
 * compared.h - compares images by the GPU's kernels, run on the host, with the CPU's.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_GPU_COMPARED_H
#define NB_TESTS_GPU_COMPARED_H

#include "emulation/gpu_runs.h"

enum { COMPARED_MOST = 64 * 64 }; /* pixels */

/* Compare in double, with 1 and 2 anchors along an edge of a tile, with the reference and
 * with lanes. `allowed` is a fraction of the peak. */
void compared_in_double(const char *name, struct gpu_case *c, double allowed);

/* Compare in float, where it is accurate enough, with the fewest anchors that suffice and
 * with more. */
void compared_in_float(const char *name, struct gpu_case *c);

/* Check for how many scenes since the last count float was not accurate enough: those of a
 * tophat that ends at an edge, of nanoBragg's curved detector, and of pixels so large that
 * an index changes too much within a tile. */
void compared_float_count(int expected_not);

#endif
