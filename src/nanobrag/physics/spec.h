/*
 * spec.h - the properties that a kernel is compiled for. With a literal phys_spec a
 * compiler removes every test of its members, so the struct selects the variant and is
 * the key of a cache.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_SPEC_H
#define NB_PHYSICS_SPEC_H

enum phys_shape { PHYS_SQUARE, PHYS_ROUND, PHYS_GAUSS, PHYS_TOPHAT, PHYS_SHAPES };
enum phys_lookup { PHYS_CONSTANT, PHYS_NEAREST, PHYS_TRICUBIC, PHYS_LOOKUPS };

struct phys_spec {
    int shape; /* enum phys_shape */
    int lookup; /* enum phys_lookup: the origin of F */
    int inside; /* 1: no look-up leaves the box, so none is checked; a kernel sets it */
    int single_orientation; /* 1: one orientation; set in compiled mode only */
};

#endif
