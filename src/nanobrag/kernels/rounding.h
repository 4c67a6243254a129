/*
 * rounding.h - estimates of the rounding error in a tile, as a fraction of the image's
 * peak.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_ROUNDING_H
#define NB_KERNELS_ROUNDING_H

#include "kernels/job.h"

/* What the estimates need to know of a frame; it is computed once per image. */
struct rounding {
    const struct phys_frame *frame; /* the frames of all panels */
    int never; /* 1: float is never precise enough */
    int poles; /* 1: square shape with counts of cells that are not whole; its slope has no
                  bound */
    double units; /* number of roundings whose error does not depend on an index */
    double reach[3]; /* largest slope of F^2 over its peak, per unit of h, k, l */
    double edges[3]; /* |a|, |b|, |c| over the shortest wavelength */
};

/* Returns the struct for an image. `frame` is the frame of the first panel; the frames of
 * all other panels follow it. */
struct rounding rounding_of(const struct phys_frame *frame, struct phys_spec spec);

/* Returns the rounding error of float in a tile that is cut into `parts` x `parts`. Tests
 * check that the error of the worst pixel of an image stays below this estimate. */
double rounding_single(const struct rounding *rounding, const struct tile *tile, int parts);

/* Returns the rounding error of float in tiles of width x height pixels anywhere on the
 * first panel. */
double rounding_single_anywhere(const struct rounding *rounding, int width, int height);

/* Returns the rounding error of float in the samples within `radius` (1/A) of a
 * reflection. */
double rounding_spot(const struct rounding *rounding, double radius);

/* Returns the rounding error of double in any tile of an image that holds the middle of a
 * spot. If an image holds only tails, its peak is smaller and this fraction of it
 * larger. */
double rounding_double(const struct rounding *rounding);

/* Returns an upper bound of the photons of a pixel: the photons it would have if all of its
 * samples lay on the brightest possible reflection. */
double rounding_brightest(const struct job *job);

/* Returns the sum of F^2 over the samples of the pixel of rounding_brightest(), times the
 * factors that are evaluated at each sample. */
double rounding_largest_sum(const struct job *job);

/* Returns 1 if `peak`, the brightest pixel, is so far below rounding_brightest() that the
 * image holds only tails of spots, which float has lost. */
int rounding_is_lost(const struct job *job, double peak);

#endif
