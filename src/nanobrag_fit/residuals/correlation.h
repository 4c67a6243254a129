/*
 * correlation.h - how well computed and observed photons of boxes correlate.
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_RESIDUALS_CORRELATION_H
#define NB_FIT_RESIDUALS_CORRELATION_H

#include <stddef.h>

#include <nanobrag/fit.h>

/* Sums over the pixels of a box of observed photons y and computed photons I, each less the
 * values of the first pixel, so that sums of squares lose no digits. */
struct pair_sums {
    double n, first[2];
    double y, i, yy, ii, yi;
};

void pair_add(struct pair_sums *sums, double observed, double photons);

/* Returns the correlation of y and I; NAN if either is constant. */
double pair_correlation(const struct pair_sums *sums);

/* Sets boxes, alike and the median correlation of a shot from the sums of its n boxes.
 * `value` has memory for n numbers. */
void pair_median(const struct pair_sums *sums, size_t n, double *value, nb_misfit *shot);

#endif
