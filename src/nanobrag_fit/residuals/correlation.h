/*
 * correlation.h - how well computed and observed photons of boxes correlate.
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_RESIDUALS_CORRELATION_H
#define NB_FIT_RESIDUALS_CORRELATION_H

#include <stddef.h>

#include <nanobrag/fit.h>

/* Sums over the pixels of a box of the products of 1, fast, slow, observed photons y and
 * computed photons I. All but the 1 count from the values of the first pixel, so that sums
 * of squares lose no digits. */
enum { PAIR_SUMS = 5 };
struct pair_sums {
    double first[4];
    double m[PAIR_SUMS][PAIR_SUMS];
};

/* Adds a pixel; `at` is its place, fast and slow. */
void pair_add(struct pair_sums *sums, const double at[2], double observed, double photons);

/* Returns the correlation of y and I after the plane of least squares is taken off each;
 * 0 if I is a plane, because the model has no spot there; NAN if y is a plane. */
double pair_correlation(const struct pair_sums *sums);

/* Sets boxes, alike and the median correlation of a shot from the sums of its n boxes.
 * `value` has memory for n numbers. */
void pair_median(const struct pair_sums *sums, size_t n, double *value, nb_misfit *shot);

#endif
