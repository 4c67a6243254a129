/*
 * lane_loss.c - the loss of a run of pixels, for one kind of loss at a time. It is compiled
 * with lanes_vjp.c, once per instruction set; photons are always in double.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/lanes/lane_loss.h"

#include "kernels/lanes/lane_moments.h"

/* Applies phys_loss() to n pixels, for a kind that is known at compile time. */
PHYS_FN double losses(struct phys_loss_model model, int n, const double *restrict photons,
                      const double *restrict observed, const double *restrict weight,
                      double *restrict slope, double *restrict curvature)
{
    double value[TILE_FAST];

#pragma omp simd
    for (int i = 0; i < n; i++) {
        const struct phys_loss loss = phys_loss(model, photons[i], observed[i], weight[i]);

        value[i] = loss.value;
        slope[i] = loss.slope;
        curvature[i] = loss.curvature;
    }
    return MOMENTS.total(n, value);
}

double LANE_LOSS(const struct phys_loss_model *model, int n, const double *photons,
                 const double *observed, const double *weight, double *slope,
                 double *curvature)
{
    struct phys_loss_model of = *model;

    switch (of.kind) {
    case PHYS_LOSS_POISSON:
        of.kind = PHYS_LOSS_POISSON;
        return losses(of, n, photons, observed, weight, slope, curvature);
    case PHYS_LOSS_POISSON_READOUT:
        of.kind = PHYS_LOSS_POISSON_READOUT;
        return losses(of, n, photons, observed, weight, slope, curvature);
    case PHYS_LOSS_HUBER:
        of.kind = PHYS_LOSS_HUBER;
        return losses(of, n, photons, observed, weight, slope, curvature);
    case PHYS_LOSS_CAUCHY:
        of.kind = PHYS_LOSS_CAUCHY;
        return losses(of, n, photons, observed, weight, slope, curvature);
    default:
        of.kind = PHYS_LOSS_GAUSSIAN;
        return losses(of, n, photons, observed, weight, slope, curvature);
    }
}
