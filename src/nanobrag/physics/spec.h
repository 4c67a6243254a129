/*
 * spec.h - the properties that a kernel is compiled for. A kernel gets a constant struct
 * phys_spec, so that the compiler removes every test of its members. The same struct is the
 * key of the cache of compiled kernels.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_SPEC_H
#define NB_PHYSICS_SPEC_H

enum phys_shape { PHYS_SQUARE, PHYS_ROUND, PHYS_GAUSS, PHYS_TOPHAT, PHYS_SHAPES };

/* How F of a sample is found: as one constant, from the nearest reflection, or by
 * interpolation between 4 x 4 x 4 reflections. */
enum phys_lookup { PHYS_CONSTANT, PHYS_NEAREST, PHYS_TRICUBIC, PHYS_LOOKUPS };

struct phys_spec {
    int shape; /* enum phys_shape */
    int lookup; /* enum phys_lookup */
    int inside; /* 1: the kernel knows that no look-up leaves the box of F, and tests
                 * none */
    int single_orientation; /* 1: the crystal has one orientation; compiled mode only */
};

#endif
