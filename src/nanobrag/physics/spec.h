/*
 * spec.h - what a kernel is specialised on. A literal phys_spec makes every test of its
 * members fold away, so the struct is at once the variant selector and the cache key.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_SPEC_H
#define NB_PHYSICS_SPEC_H

enum phys_shape { PHYS_SQUARE, PHYS_ROUND, PHYS_GAUSS, PHYS_TOPHAT, PHYS_SHAPES };
enum phys_lookup { PHYS_CONSTANT, PHYS_NEAREST, PHYS_TRICUBIC, PHYS_LOOKUPS };

struct phys_spec {
    int shape; /* enum phys_shape */
    int lookup; /* enum phys_lookup: where F comes from */
    int inside; /* 1: no look-up leaves the box, so none asks (a kernel's own finding) */
    int single_orientation; /* 1: the crystal has one orientation (compiled mode alone says
                               so) */
};

#endif
