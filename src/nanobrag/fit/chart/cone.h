/*
 * fit/chart/cone.h - the matrix of mosaic spreads stays positive semi-definite.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_CHART_CONE_H
#define NB_FIT_CHART_CONE_H

#include <stddef.h>

typedef struct nb_fit nb_fit;

/* Turns each matrix T of spreads among parameters first to first + n - 1 of the trial into
 * the root of T^2, if all six elements are there. */
void cone_reflect(nb_fit *fit, size_t first, size_t n);

#endif
