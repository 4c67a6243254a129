/*
 * beam.h - fluence, and the list of sources from divergence and dispersion.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_BEAM_H
#define NB_SCENE_BEAM_H

#include "scene/scene.h"

/* r_e^2, the squared classical electron radius, m^2 */
#define BEAM_RE2 7.94079248018965e-30

/* Wavelength, fluence, size; before anything that depends on them. */
nb_status beam_resolve(nb_context *ctx, nb_scene *scene);

/* NB_ERR_SCENE unless beam and spindle have a direction, and the polarization axis is at an
 * angle to the beam where it matters. */
nb_status beam_check_directions(nb_context *ctx, const nb_scene *scene);

/* How many sources the scene has: sets ngrid and nsource. Needs the step counts. */
nb_status beam_count(nb_context *ctx, const nb_scene *scene, struct scene_fixed *fixed);

/* Place the generated sources in their grid; nothing to do for given ones. */
void beam_fill(const nb_scene *scene, struct scene_fixed *fixed);

/* Source i, its weight not yet divided by the sum. */
nb_status beam_source(nb_context *ctx, const nb_scene *scene,
                      const struct scene_fixed *fixed, int i, struct phys_source *out);

/* The list of sources (fixed->nsource), weights normalised. */
nb_status beam_derive(nb_context *ctx, const nb_scene *scene,
                      const struct scene_fixed *fixed, struct phys_source *out);

/* Horizontal and vertical deviation of source i, radian; 0 for a given source. */
void beam_deviation(const nb_scene *scene, const struct scene_fixed *fixed, int i,
                    double deviation[2]);

/* Shortest wavelength of the scene, A. */
double beam_shortest(const nb_scene *scene);

#endif
