/*
 * mosaicity.h - converts the mosaic spread of a scene to the mosaicity of other programs.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_EXPERIMENT_MOSAICITY_H
#define NB_IO_EXPERIMENT_MOSAICITY_H

#include <nanobrag/scene.h>

#include "scene/linear.h"
#include "scene/mosaic.h"

/* Returns the standard deviation of the domains' rotations about one axis, degree; the mean
 * over the three axes. */
static inline double mosaicity_of(const nb_crystal *crystal)
{
    const double *w = crystal->mosaic;

    if (w[1] == 0 && w[2] == 0) return MOSAIC_OF_SPREAD * w[0];
    return MOSAIC_OF_SPREAD * linear_norm(w) / sqrt(3);
}

#endif
