/*
 * normal.h - nb_jtj() and nb_loss() of mutants: compared with what follows from
 * the tangents of the healthy code. A part of judge.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef MUTATION_NORMAL_H
#define MUTATION_NORMAL_H

#include <nanobrag/nanobrag.h>

enum { MOST_PIXELS = 256, MOST_PARAMS = 80 };

struct normal;

/* From the healthy code: its image, and its tangent along every parameter. NULL on failure.
 * Never freed. */
struct normal *normal_start(nb_simulator *sim, int nslow, int nfast, const double *image,
                            double tangent[][MOST_PIXELS]);

/* Now: the largest difference from the tangents' sums, and from what the healthy code
 * found, of the sum of sizes. HUGE_VAL on failure. */
double normal_off(const struct normal *normal);
double normal_change(const struct normal *normal);

#endif
