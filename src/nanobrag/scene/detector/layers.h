/*
 * layers.h - the layers that sample the depth of a sensor, and their absorption
 * (docs/theory.md, 3 and 11).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_LAYERS_H
#define NB_SCENE_LAYERS_H

#include "scene/detector/detector.h"
#include "scene/scene.h"

/* Layer t lies at the depth offset + t step, m; mu is step times the absorption
 * coefficient. */
struct layers {
    double step, offset, mu;
};

/* Converts the attenuation to the wavelength of the scene, and decides the number of
 * layers, their thickness (*steps) and the cosine that gives their depths. Returns
 * NB_ERR_SCENE if a sensor has no attenuation. */
nb_status layers_resolve(nb_context *ctx, nb_scene *scene,
                         const struct detector_scale *scale, struct scene_steps *steps);

/* Computes the layers of a resolved scene; all are 0 without a sensor. */
struct layers layers_derive(const nb_scene *scene, const struct scene_fixed *fixed);

/* Returns the depth, um, at which 1/e of the photons are left, at the wavelength of the
 * scene. */
double layers_attenuation(const nb_scene *scene);

/* Returns the mean depth of capture in a layer from 0 to `step`, for an attenuation depth
 * `depth`: depth - step/(exp(step/depth) - 1). Writes its derivatives by step and depth to
 * slope[0] and slope[1]. */
double layers_mean(double step, double depth, double slope[2]);

#endif
