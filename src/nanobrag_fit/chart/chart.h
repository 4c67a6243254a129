/*
 * chart.h - along which curves a step moves the parameters of a fit.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_CHART_CHART_H
#define NB_FIT_CHART_CHART_H

#include <stddef.h>

#include <nanobrag/simulator.h>

typedef struct nb_fit nb_fit;

enum fit_chart { CHART_LINE, CHART_SQUARE, CHART_CELLS, CHART_SUM };

/* Returns how a parameter moves; a shot with mosaic domains is not even in their spread. */
int chart_of(const nb_param *param, int has_domains);

/* Returns the lower bound of a parameter in a fit. */
double chart_least(int chart, const nb_param *param);

/* Returns the step that moves a parameter from x to there; and where a step leads. */
double chart_step_to(int chart, double x, double to);
double chart_move(int chart, double x, double step);

/* Moves parameters first to first + n - 1 of the trial by fit->step, within their bounds.
 */
void chart_trial(nb_fit *fit, size_t first, size_t n);

#endif
