/*
 * drawn_scene.h - random scenes: all shapes, cells from 2 to 1000 A, 1 to 1000 of them,
 * wavelengths from 0.1 to 10 A, and whatever else an image depends on.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_DRAWN_SCENE_H
#define NB_TESTS_DRAWN_SCENE_H

#include <nanobrag/nanobrag.h>

#include "attack/attack.h"

enum { DRAWN_EDGE = 40, DRAWN_PIXELS = DRAWN_EDGE * DRAWN_EDGE };

/* A scene points to the other members, so that a copy of this is no scene of its own. */
struct drawn_scene {
    nb_scene scene;
    nb_source source[3];
    double domain_weight[6];
    uint8_t mask[DRAWN_PIXELS];
    nb_hkl *hkl; /* drawn_scene_free() frees it */
    int npixel;
    nb_description about; /* for the caller: what rendered it */
    char text[300]; /* what it is, for a failure */
};

/* Draw a scene. Where there is one orientation and one source, a pixel of two scenes out of
 * three is put on the flank of a reflection, so that the image holds a spot. */
void drawn_scene(struct attack *attack, struct drawn_scene *out);

void drawn_scene_free(struct drawn_scene *drawn);

#endif
