/*
 * aimed.h - scenes that show one spot of a chosen resolution, angle to the spindle and
 * place within the rotation, on a detector that is little larger than the spot.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_AIMED_H
#define NB_TESTS_AIMED_H

#include <nanobrag/nanobrag.h>

enum { AIMED_SIDE = 17, AIMED_PIXELS = AIMED_SIDE * AIMED_SIDE };

struct aimed {
    double edge[3]; /* of a block along a, b, c, A */
    double mosaic[3]; /* as nb_crystal.mosaic, degree */
    double d; /* spacing of the reflection, A */
    double osc, spindle; /* range of phi, and angle of q to the spindle, degree; 0: 80 */
    double at; /* the reflection meets the sphere there, as a fraction of the range */
    double off; /* of a still: so many standard deviations of the spot beside the sphere */
    double wider; /* factor on the pixel; 0: 1 */
};

/* Returns the scene. Its beam is monochromatic and parallel; every reflection has the same
 * F. The lists of what is asked belong to the caller. */
nb_scene aimed_scene(const struct aimed *a);

/* The pixels of its image, as truth_pixels() wants them. */
const int *aimed_places(void);

#endif
