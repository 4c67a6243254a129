/*
 * objective.h - the objective L of an adjoint: the callback that the derivative kernels ask
 * for dL/dphotons of a run of pixels.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_DERIVATIVES_OBJECTIVE_H
#define NB_KERNELS_DERIVATIVES_OBJECTIVE_H

#include <stddef.h>

#include "kernels/job.h"

struct objective {
    /* Computes bar[i] = dL/dphotons[i] for n pixels of a row, from pixel number `first` of
     * the image on. Unless `weight` is NULL, it computes their weights in a normal matrix,
     * too. Returns the contribution of these pixels to L. */
    double (*row)(const void *user, size_t first, int n, const double *photons, double *bar,
                  double *weight);
    /* Prefetches what row() will read for n pixels; NULL: there is nothing to prefetch. */
    void (*ahead)(const void *user, size_t first, int n);
    /* Receives all photons, packed (base/window.h), before the first row(); NULL: not
     * needed. Only spots_vjp() calls it. */
    void (*settle)(const void *user, const double *photons);
    const void *user;
    int linear; /* 1: bar does not depend on the photons, and L is the sum of bar times
                   photons; the result of row() is not used */
    const double *given; /* bar of the tile, if the caller knows it already; else NULL */
};

/* Computes bar and, unless NULL, weight of a tile's rendered pixels in the order of
 * grid_list(). Returns the contribution of the tile to L. */
double objective_tile(const struct objective *objective, const struct job *job,
                      const struct tile *tile, const double *photons, double *bar,
                      double *weight);

/* Prefetches what objective_tile() will read for a tile of an image, so that memory arrives
 * while other work is done. */
void objective_ahead(const struct objective *objective, const struct job *image,
                     const struct tile *tile);

#endif
