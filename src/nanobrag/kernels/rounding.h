/*
 * rounding.h - estimates of the rounding error in a tile, as a fraction of the image's
 * peak.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_ROUNDING_H
#define NB_KERNELS_ROUNDING_H

#include "kernels/job.h"

/* The properties of a frame that the estimates need; they are computed once per image. */
struct rounding {
    const struct phys_frame *frame; /* the frames of all panels */
    int never; /* 1: float is never precise enough */
    int poles; /* 1: the square profile of a broken cell count, whose slope has no bound */
    double units; /* roundings that do not depend on an index */
    double reach[3]; /* slope of F^2 over its peak, per unit of h, k, l */
    double edges[3]; /* |a|, |b|, |c| over the shortest wavelength */
};

/* `frame` is the frame of the first panel; the frames of all other panels follow it. */
struct rounding rounding_of(const struct phys_frame *frame, struct phys_spec spec);

/* Returns the error of float in a tile that is cut into `parts` x `parts`. Tests check that
 * the worst pixel of an image lies within this error bar. */
double rounding_single(const struct rounding *rounding, const struct tile *tile, int parts);

/* Returns the error of float in tiles of width x height pixels anywhere on the first panel.
 */
double rounding_single_anywhere(const struct rounding *rounding, int width, int height);

/* Returns the error of float in the samples within `radius` (1/A) of a reflection. */
double rounding_spot(const struct rounding *rounding, double radius);

/* Returns the error of double in all tiles of an image that holds the middle of a spot. In
 * an image that holds only tails it is a larger fraction. */
double rounding_double(const struct rounding *rounding);

/* Returns an upper bound of the photons of a pixel of an image: all of its samples lie on
 * the brightest possible reflection. */
double rounding_brightest(const struct job *job);

/* Returns the sum of F^2 over the samples of such a pixel, times the factors that are
 * evaluated at each sample. */
double rounding_largest_sum(const struct job *job);

/* Returns 1 when `peak` is so far below rounding_brightest() that the image holds only
 * tails of spots, which float has lost. */
int rounding_is_lost(const struct job *job, double peak);

#endif
