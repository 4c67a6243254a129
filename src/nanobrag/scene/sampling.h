/*
 * sampling.h - decides the numbers of phi steps, divergence and dispersion steps, sensor
 * layers, mosaic domains and sub-pixels (docs/theory.md, 11).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_SAMPLING_H
#define NB_SCENE_SAMPLING_H

#include "scene/crystal.h"
#include "scene/detector/detector.h"
#include "scene/scene.h"

/* Decides the counts that need no geometry: divergence, dispersion and mosaic domains. */
nb_status sampling_resolve(nb_context *ctx, nb_scene *scene, struct scene_fixed *fixed);

/* Decides the numbers that depend on crystal and detector: phi steps, sub-pixels, layers of
 * the sensor and interpolation. */
nb_status sampling_resolve_placed(nb_context *ctx, nb_scene *scene,
                                  const struct crystal_axes *axes,
                                  const struct detector_scale *scale,
                                  struct scene_fixed *fixed);

/* Returns NB_LOOKUP_NEAREST or NB_LOOKUP_TRICUBIC; N must be resolved. */
int sampling_interpolation(const nb_scene *scene, const struct scene_fixed *fixed);

/* Returns the angle of phi step i, degree. */
double sampling_phi(const nb_scene *scene, const struct scene_fixed *fixed, int i);

/* Computes the drift of the crystal at phi step i, as a rotation vector, radian. */
void sampling_drift(const nb_scene *scene, const struct scene_fixed *fixed, int i,
                    double drift[3]);

/* Returns the length of one step of a sampled range, in the unit of the range. */
double sampling_step(const struct scene_steps *steps, double range);

#endif
