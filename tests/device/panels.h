/*
 * panels.h - detectors of several panels for tests of a device: scenes, and images of each
 * panel alone, whose bits an image of all of them has.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_DEVICE_PANELS_H
#define NB_TESTS_DEVICE_PANELS_H

#include "support/tiled.h"

/* Returns a scene with the five panels of tiled_detector() where it moves them, each placed
 * in the laboratory, so that a panel alone has the same numbers. */
nb_scene panels_placed(struct tiled *tiled);

/* How an image differs from those of its panels alone. */
struct panels_difference {
    int pixels; /* of panels, that have other bits */
    int light; /* of no panel, that are not 0 */
};

/* Compare an image of panels_placed() with those that simulators of a context make of each
 * panel alone. Ends the program if one cannot be made. */
struct panels_difference panels_compare(nb_context *ctx, const nb_scene *scene,
                                        const struct tiled *tiled,
                                        const nb_options *options, const double *image);

/* Returns a named scene of both.h cut into two panels below groups. With `gaps` they are
 * smaller than their halves of the image, and one begins beside its edge. */
nb_scene panels_two(const char *name, int gaps);

/* The moves of its panels and groups, and others beside them. */
extern const char panels_moves[];

#endif
