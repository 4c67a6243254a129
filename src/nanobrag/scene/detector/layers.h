/*
 * layers.h - the layers that sample the depth of a sensor, and how much it absorbs
 * (docs/theory.md, 3 and 11).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_LAYERS_H
#define NB_SCENE_LAYERS_H

#include "scene/detector/detector.h"
#include "scene/scene.h"

/* Layer t lies at offset + t step, m, and mu is the absorption along a step. */
struct layers {
    double step, offset, mu;
};

/* States the attenuation for the wavelength of the scene, and decides the number of layers
 * and where in its slice of the sensor each of them lies. Returns NB_ERR_SCENE without an
 * attenuation. */
nb_status layers_resolve(nb_context *ctx, nb_scene *scene,
                         const struct detector_scale *scale, struct scene_steps *steps);

/* Computes the layers of a resolved scene; all are 0 without a sensor. */
struct layers layers_derive(const nb_scene *scene, const struct scene_fixed *fixed);

/* Returns the depth, um, that leaves 1/e of the photons at the wavelength of the scene. */
double layers_attenuation(const nb_scene *scene);

/* Returns the mean depth of capture in a layer from 0 to `step` for the attenuation depth
 * `depth`: depth - step/(exp(step/depth) - 1). Writes its derivatives by both to
 * slope[2]. */
double layers_mean(double step, double depth, double slope[2]);

#endif
