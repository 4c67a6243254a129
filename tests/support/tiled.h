/*
 * tiled.h - a detector of panels that tests share: five tilted panels of different sizes,
 * some in groups, with gaps between them in the image and one with pixels of its own size.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_TILED_H
#define NB_TESTS_TILED_H

#include <nanobrag/nanobrag.h>

enum {
    TILED_PANELS = 5,
    TILED_GROUPS = 3,
    TILED_NSLOW = 120,
    TILED_NFAST = 150,
    TILED_PIXELS = TILED_NSLOW * TILED_NFAST
};

struct tiled {
    nb_panel panel[TILED_PANELS];
    nb_panel_group group[TILED_GROUPS];
};

/* Put the panels into `tiled`, and into a scene with the beam along +z. With `moved` panels
 * and groups are shifted and turned, and the whole detector, too. */
void tiled_detector(struct tiled *tiled, int moved, nb_scene *scene);

/* A gaussian crystal with many spots on these panels, with water; the panels are not in it.
 */
nb_scene tiled_scene(void);

/* Returns the panel of pixel (slow, fast) of the image; -1: none. */
int tiled_panel_of(const struct tiled *tiled, int slow, int fast);

/* Returns a scene with one panel of a simulator's detector alone, at x, which is put into
 * *panel. */
nb_scene tiled_alone(nb_simulator *sim, const double *x, const nb_scene *scene, int i,
                     nb_panel *panel);

#endif
