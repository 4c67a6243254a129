/*
 * compared.h - images by the GPU's kernels, run on this machine, against the CPU's.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_GPU_COMPARED_H
#define NB_TESTS_GPU_COMPARED_H

#include "emulation/gpu_runs.h"

enum { COMPARED_MOST = 64 * 64 }; /* pixels */

/* In double with 1 and 2 anchors along an edge, against the reference and lanes. `allowed`:
 * of the peak. */
void compared_in_double(const char *name, struct gpu_case *c, double allowed);

/* In float, where it is good enough, with as many anchors as it takes, and with more. */
void compared_in_float(const char *name, struct gpu_case *c);

/* Checks how many scenes since the last count float was not good enough for: those of a
 * tophat that ends at an edge, of the curved detector as nanoBragg has it, and of pixels so
 * large that an index moves too far in a tile. */
void compared_float_count(int expected_not);

#endif
