/*
 * pattern.h - the places of the nodes in the ellipse of a spot, and the polynomials in its
 * coordinates a and b that fit numbers at these places. Degrees: 4 for log I and the place
 * of its maximum, 2 for its curvature, 1 for the higher derivatives.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_PATTERN_H
#define NB_KERNELS_CONTINUOUS_PATTERN_H

#include "kernels/continuous/forms/nodes.h"
#include "kernels/continuous/samples.h"

struct pattern {
    on_nodes a, b;
    double fit[SPOT_COEFFICIENTS][NODES]; /* a coefficient is the sum over the nodes */
};

/* Computes the places, on rings, and the fits: weighted least squares. */
void pattern_make(struct pattern *out);

/* Writes the coefficients of the first `outputs` outputs of the nodes and sets all other
 * coefficients to 0. The map is linear, so it is its own tangent. */
void pattern_fit(const struct pattern *pattern, int outputs, double (*output)[NODES],
                 double coefficient[SPOT_COEFFICIENTS]);

/* Writes the cotangents of the outputs, given the cotangents of the coefficients. */
void pattern_fit_adjoint(const struct pattern *pattern, int outputs,
                         const double bar[SPOT_COEFFICIENTS], double (*output)[NODES]);

#endif
