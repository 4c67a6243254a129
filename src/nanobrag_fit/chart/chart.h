/*
 * chart.h - the curves along which a step moves the parameters of a fit.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_CHART_CHART_H
#define NB_FIT_CHART_CHART_H

#include <stddef.h>

#include <nanobrag/simulator.h>

typedef struct nb_fit nb_fit;

/* how a parameter moves: straight, or straight in one of the numbers that chart.c lists */
enum fit_chart { CHART_LINE, CHART_SQUARE, CHART_CELLS, CHART_SUM };

/* Returns how a parameter moves. With mosaic domains (has_domains 1) widths move straight,
 * because the image of discrete domains is no even function of a width. */
int chart_of(const nb_param *param, int has_domains);

/* Returns the least value of a parameter in a fit. */
double chart_least(int chart, const nb_param *param);

/* chart_step_to() returns the step that moves a parameter from x to `to`; chart_move()
 * returns where a step from x leads. */
double chart_step_to(int chart, double x, double to);
double chart_move(int chart, double x, double step);

/* Moves parameters first to first + n - 1 of the trial by fit->step from the best point,
 * along their curves and within their bounds. */
void chart_trial(nb_fit *fit, size_t first, size_t n);

#endif
