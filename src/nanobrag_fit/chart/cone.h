/*
 * nanobrag_fit/chart/cone.h - the matrix of mosaic spreads stays positive semi-definite.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_CHART_CONE_H
#define NB_FIT_CHART_CONE_H

#include <stddef.h>

typedef struct nb_fit nb_fit;
struct fit_point;

/* Moves each matrix of spreads among parameters first to first + n - 1 of the trial by its
 * step, if all six elements are there. */
void cone_move(nb_fit *fit, size_t first, size_t n);

/* Holds the spreads of a point that are as near to 0 as they come and that a step would
 * make negative, by its matrix. */
void cone_hold(const nb_fit *fit, struct fit_point *point);

/* Sets the warning that a spread ended at 0; 0: none has. */
int cone_warn(const nb_fit *fit, char *text, size_t size);

#endif
