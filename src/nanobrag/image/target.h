/*
 * target.h - what an image is compared with: the loss of a pixel, its slope and curvature
 * in the photons (formulas: <nanobrag/simulator.h>).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IMAGE_TARGET_H
#define NB_IMAGE_TARGET_H

#include <nanobrag/context.h>
#include <nanobrag/simulator.h>

struct loss {
    double value, slope, curvature;
};

/* NB_OK when the target makes sense, whatever its images are. */
nb_status loss_check(nb_context *ctx, const nb_target *target);

/* Of one pixel; value infinite where photons were observed that cannot be. */
struct loss loss_pixel(const nb_target *target, double photons, double observed,
                       double weight);

#endif
