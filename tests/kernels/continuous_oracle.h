/*
 * continuous_oracle.h - samples of the continuous strategy in long double, by quadrature
 * and by sums over lines.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_CONTINUOUS_ORACLE_H
#define NB_TESTS_CONTINUOUS_ORACLE_H

#include "kernels/continuous/samples.h"

/* Returns a random number between -1 and 1. */
double oracle_uniform(unsigned *seed);

/* Returns the intensity of a sample of a profile changed by `t` times `dot`, which may be
 * NULL. */
long double oracle_sample(const struct profile *profile, const struct profile_change *dot,
                          long double t, double a, double b);

/* Writes the sums over the samples of each of `pixels` pixels. */
void oracle_image(const struct profile *profile, const struct profile_change *dot,
                  long double t, int over, int nrows, const struct sample_row *rows,
                  int pixels, long double *image);

/* Writes the derivatives of the image along `dot`, by differences of eighth order. */
void oracle_change(const struct profile *profile, const struct profile_change *dot,
                   int over, int nrows, const struct sample_row *rows, int pixels,
                   long double *change);

/* Returns the sum of w_j N(e_j - at; variance), each with the skewness of a gaussian of the
 * energy over its logarithm. */
long double oracle_lines(int n, const double *e, const double *w, long double variance,
                         long double at);

#endif
