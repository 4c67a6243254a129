/*
 * objective.h - what pulls on the photons of an image: turns them into cotangents, pixel by
 * pixel, in the middle of an adjoint.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_DERIVATIVES_OBJECTIVE_H
#define NB_KERNELS_DERIVATIVES_OBJECTIVE_H

#include <stddef.h>

#include "kernels/job.h"

struct objective {
    /* of n pixels of a row from number `first` of the image on: bar[i] and, unless NULL,
     * the weight[i] of a normal matrix from photons[i]; returns what they add to a value */
    double (*row)(const void *user, size_t first, int n, const double *photons, double *bar,
                  double *weight);
    const void *user;
    int linear; /* 1: bar does not depend on the photons, and the value is the sum of bar
                   times photons, whatever row returns */
    const double *given; /* bar of the tile at hand, known already; else NULL */
};

/* bar and, unless NULL, weight of a tile: 0 where the job renders no pixel. Returns what
 * the tile adds to the value. */
double objective_tile(const struct objective *objective, const struct job *job,
                      const struct tile *tile, const double *photons, double *bar,
                      double *weight);

#endif
