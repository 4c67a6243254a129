/*
 * plate.h - the scene of which the tests of image files make images: one step of a sweep on
 * a detector at right angles to the beam.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_PLATE_H
#define NB_TESTS_PLATE_H

#include <nanobrag/nanobrag.h>

nb_scene plate(int nfast, int nslow);

#endif
