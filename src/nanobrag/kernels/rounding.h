/*
 * rounding.h - how much of the image's peak rounding may cost in a tile.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_ROUNDING_H
#define NB_KERNELS_ROUNDING_H

#include "kernels/job.h"

/* what an estimate needs of a frame, found once per image */
struct rounding {
    const struct phys_frame *frame;
    int never; /* no number of digits in float is enough */
    double reach[3]; /* slope of F^2 over its peak, per unit of h, k, l */
    double edges[3]; /* |a|, |b|, |c| over the shortest wavelength */
};

struct rounding rounding_of(const struct phys_frame *frame, struct phys_spec spec);

/* Of float, in a tile cut into `parts` x `parts`; in the sense of an error bar: tests hold
 * the worst pixel of an image to it. */
double rounding_single(const struct rounding *rounding, const struct tile *tile, int parts);

/* Of float, in tiles of so many pixels, wherever on the detector they lie. */
double rounding_single_anywhere(const struct rounding *rounding, int width, int height);

/* Of float, in the samples about a reflection, up to a distance in reciprocal space. */
double rounding_spot(const struct rounding *rounding, double radius);

/* Of double, in all tiles, where an image holds the middle of a spot; of tails alone it is
 * a larger share. */
double rounding_double(const struct rounding *rounding);

/* Photons of a pixel whose samples all stand on the brightest reflection there can be. */
double rounding_brightest(const struct job *job);

/* The sum of F^2 of such a pixel, with the factors that are evaluated at each sample. */
double rounding_largest_sum(const struct job *job);

/* 1 when an image with such a peak is so far below that, all of it the tails of spots, that
 * float lost it. */
int rounding_is_lost(const struct job *job, double peak);

#endif
