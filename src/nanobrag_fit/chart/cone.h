/*
 * cone.h - keeps the matrix of mosaic spreads positive semi-definite.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_CHART_CONE_H
#define NB_FIT_CHART_CONE_H

#include <stddef.h>

typedef struct nb_fit nb_fit;
struct fit_point;

/* Moves each matrix of mosaic spreads among parameters first to first + n - 1 of the trial
 * by its step, if all six elements are free. */
void cone_move(nb_fit *fit, size_t first, size_t n);

/* Changes the matrix of a point so that no step makes a spread negative that is at its
 * least value. */
void cone_hold(const nb_fit *fit, struct fit_point *point);

/* Writes the warning that a spread ended at 0. Returns 0 if none has. */
int cone_warn(const nb_fit *fit, char *text, size_t size);

#endif
