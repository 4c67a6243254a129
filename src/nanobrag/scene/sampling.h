/*
 * sampling.h - how many steps of everything: phi, divergence, dispersion, layers, domains,
 * sub-pixels.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_SAMPLING_H
#define NB_SCENE_SAMPLING_H

#include "scene/crystal.h"
#include "scene/detector.h"
#include "scene/scene.h"

/* Divergence, dispersion, sensor layers and mosaic domains: what needs no geometry. */
nb_status sampling_resolve(nb_context *ctx, nb_scene *scene, struct scene_fixed *fixed);

/* Phi steps, sub-pixels and interpolation: what needs the crystal and the detector. */
nb_status sampling_resolve_placed(nb_context *ctx, nb_scene *scene,
                                  const struct crystal_axes *axes,
                                  const struct detector_place *place,
                                  struct scene_fixed *fixed);

/* Angle of phi step i of the scene, degree. */
double sampling_phi(const nb_scene *scene, const struct scene_fixed *fixed, int i);

/* The step of a sampled range. */
double sampling_step(const struct scene_steps *steps, double range);

#endif
