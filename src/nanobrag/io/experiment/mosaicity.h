/*
 * mosaicity.h - the mosaic spread of a scene and the mosaicity of other programs.
 *
 * A domain is turned by an angle w (1 - r^2)^(1/3) about an axis in any direction, with r
 * even between -1 and 1 and w the spread (docs/theory.md, 9). Its turn about a given axis
 * has the variance w^2/3 times the mean of (1 - r^2)^(2/3), which is
 * Gamma(1/2) Gamma(5/3)/(2 Gamma(13/6)).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_EXPERIMENT_MOSAICITY_H
#define NB_IO_EXPERIMENT_MOSAICITY_H

#include <nanobrag/scene.h>

#include "scene/linear.h"

/* Standard deviation of the turns about one axis, for a spread of 1. */
#define MOSAICITY_OF_SPREAD 0.49637826966267715

/* Returns the standard deviation of the turns of the domains about an axis, the mean of
 * three, degree. */
static inline double mosaicity_of(const nb_crystal *crystal)
{
    const double *w = crystal->mosaic;

    if (w[1] == 0 && w[2] == 0) return MOSAICITY_OF_SPREAD * w[0];
    return MOSAICITY_OF_SPREAD * linear_norm(w) / sqrt(3);
}

#endif
