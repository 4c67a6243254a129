/*
 * brute_force.h - a third opinion: the pixel sum written from the formulas as plainly as
 * they stand, sharing nothing with the library but the public description of a scene.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_ORACLE_H
#define NB_TESTS_ORACLE_H

#include <nanobrag/nanobrag.h>

/* The image (nslow x nfast) of a scene without quirks: square shape, F by nearest
 * neighbour, flat detector. Geometry, orientations and sources are asked from `sim`. */
void oracle_image(const nb_scene *scene, nb_simulator *sim, double *image);

#endif
