/*
 * pattern.h - the places of the nodes in the ellipse of a spot, and the fit of polynomials
 * in its coordinates a and b to the numbers at these places. The polynomials have degree 4
 * for log I and the place of its maximum, 2 for its curvature, 1 for its higher
 * derivatives.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_PATTERN_H
#define NB_KERNELS_CONTINUOUS_PATTERN_H

#include "kernels/continuous/forms/nodes.h"
#include "kernels/continuous/samples.h"

struct pattern {
    on_nodes a, b; /* places of the nodes */
    double fit[SPOT_COEFFICIENTS][NODES]; /* [k][i]: slope of coefficient k by node i */
};

/* Computes the places, on rings, and the fits by weighted least squares. */
void pattern_make(struct pattern *out);

/* Fits the first `outputs` outputs of the nodes and sets all other coefficients to 0. The
 * map is linear, so it also maps tangents. */
void pattern_fit(const struct pattern *pattern, int outputs, double (*output)[NODES],
                 double coefficient[SPOT_COEFFICIENTS]);

/* Computes the cotangents of the outputs from the cotangents of the coefficients. */
void pattern_fit_adjoint(const struct pattern *pattern, int outputs,
                         const double bar[SPOT_COEFFICIENTS], double (*output)[NODES]);

#endif
