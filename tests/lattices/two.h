/*
 * two.h - scenes of a crystal with a further lattice, and of each of its lattices by
 * itself.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_TWO_H
#define NB_TESTS_TWO_H

#include <nanobrag/nanobrag.h>

enum { TWO_SIDE = 24, TWO_PIXELS = TWO_SIDE * TWO_SIDE };

/* What the crystal is. */
enum two_kind {
    TWO_GAUSS, /* continuous, with water */
    TWO_ROTATING, /* continuous, over two degrees in parts, with a tail */
    TWO_SQUARE, /* domains and phi steps, with structure factors */
    TWO_TRICUBIC, /* gaussian domains, interpolated structure factors */
    TWO_SPREAD, /* continuous, behind a point spread */
    TWO_PANELS, /* continuous, on panels */
    TWO_BOXES, /* continuous, in boxes */
    TWO_KINDS
};

const char *two_name(int kind);

/* Returns 1 where this build cannot compute the kind. */
int two_is_missing(int kind);

/* Returns 1 for a kind whose domains are sampled, so that it has three strategies. */
int two_is_sampled(int kind);

/* Write the scene of both lattices, and those of each, the second without water. The lists
 * of the scene are static. */
void two_scenes(int kind, nb_scene *both, nb_scene one[2]);

/* The parameters of a scene of one lattice, and of that of both. */
#define TWO_OF_ONE  "ncells scale fluence wavelength cell misset"
#define TWO_OF_BOTH TWO_OF_ONE " lattice_cell lattice_misset lattice_scale"

#endif
