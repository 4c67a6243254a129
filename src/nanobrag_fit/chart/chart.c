/*
 * chart.c - moves parameters along curves. A step of the normal equations is a straight
 * line in the parameters, and right to first order. The image is closer to linear in other
 * numbers, so the step is made straight in these:
 *
 *   square  a width w adds w^2 to the squared width of a spot. At 0 the image has a slope
 *           in w^2 but none in w, so a fit stays a tiny step away from 0.
 *   cells   N cells add 1/N^2 to the squared width.
 *   sum     the photons of a spot follow scale N_a N_b N_c. The step moves this product,
 *           and the scale follows from it: N may make blocks large without more photons.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_fit/chart/chart.h"

#include <math.h>
#include <string.h>

#include "nanobrag_fit/chart/cone.h"
#include "nanobrag_fit/fit.h"

/* Least value of a width (mosaic spread and so on) in a fit, as a fraction of
 * nb_param.scale. The value is not 0, where the image has no slope in the width. */
static const double tiny = 1e-6;

/* cells_most: a step raises N by this factor at most. sum_least: a step leaves at least
 * this fraction of scale N_a N_b N_c. */
static const double cells_most = 1e6, sum_least = 0.05;

int chart_of(const nb_param *param, int has_domains)
{
    static const char *const squares[] = {"mosaic",       "mosaic_axes", "strain",
                                          "crystal_size", "divergence",  "dispersion"};

    if (!strcmp(param->group, "ncells")) return CHART_CELLS;
    if (!strcmp(param->name, "scale")) return CHART_SUM;
    for (size_t i = 0; !has_domains && i < sizeof squares / sizeof *squares; i++)
        if (!strcmp(param->group, squares[i])) return CHART_SQUARE;
    return CHART_LINE;
}

double chart_least(int chart, const nb_param *param)
{
    return chart == CHART_SQUARE && param->lower == 0 ? tiny * param->scale : param->lower;
}

double chart_step_to(int chart, double x, double to)
{
    if (chart == CHART_SQUARE) return (to - x) * (to + x) / (2 * x);
    if (chart == CHART_CELLS) return x / 2 * (1 - x / to * (x / to));
    return to - x;
}

double chart_move(int chart, double x, double step)
{
    if (chart == CHART_SQUARE) return sqrt(fmax(x * (x + 2 * step), 0));
    if (chart == CHART_CELLS)
        return x / sqrt(fmax(1 - 2 * step / x, 1 / (cells_most * cells_most)));
    return x + step;
}

/* Returns the new value of the scale, parameter i, after a step of parameters first to
 * first + n - 1. */
static double move_sum(const nb_fit *fit, size_t first, size_t n, size_t i)
{
    double change = fit->step[i] / fit->best.x[i], cells = 1;

    for (size_t j = first; j < first + n; j++) {
        const int is_of_all = fit->value[j].shot < 0;
        const double now = fit->best.x[j];

        if (fit->chart[j] != CHART_CELLS
            || !(is_of_all || fit->value[j].shot == fit->value[i].shot))
            continue;
        change += fit->step[j] / now;
        cells *= chart_move(CHART_CELLS, now, fit->step[j]) / now;
    }
    return fit->best.x[i] * fmax(1 + change, sum_least) / cells;
}

/* Returns 1 if a step moves a number of cells. If none moves, a scale moves along a
 * straight line, and is computed as one to the last bit. */
static int moves_cells(const nb_fit *fit, size_t first, size_t n)
{
    for (size_t j = first; j < first + n; j++)
        if (fit->chart[j] == CHART_CELLS && fit->step[j] != 0) return 1;
    return 0;
}

void chart_trial(nb_fit *fit, size_t first, size_t n)
{
    const int with_cells = moves_cells(fit, first, n);

    for (size_t i = first; i < first + n; i++) {
        const int is_sum = with_cells && fit->chart[i] == CHART_SUM && fit->best.x[i] > 0;
        const double to = is_sum ? move_sum(fit, first, n, i)
                                 : chart_move(fit->chart[i], fit->best.x[i], fit->step[i]);

        fit->trial.x[i] = fmin(fmax(to, fit->lower[i]), fit->upper[i]);
    }
    cone_move(fit, first, n);
}
