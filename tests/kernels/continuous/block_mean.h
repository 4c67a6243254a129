/*
 * block_mean.h - the mean over rotation vectors of what a block scatters, by quadrature.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_BLOCK_MEAN_H
#define NB_TESTS_BLOCK_MEAN_H

#include "kernels/continuous/forms/form_make.h"

/* Returns the mean of exp(-g K g/2), g = R(t)^T (q0 + d) - q0, over normally distributed
 * rotation vectors t. `step` is that of the sum, in standard deviations: 0.6 leaves an
 * error below 1e-9 of the peak. The members height and b are not used. */
double block_mean(const struct form_of *of, const double d[3], double step);

#endif
