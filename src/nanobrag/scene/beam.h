/*
 * beam.h - the fluence, and the list of sources made from divergence and dispersion
 * (docs/theory.md, 10).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_BEAM_H
#define NB_SCENE_BEAM_H

#include "scene/scene.h"

/* r_e^2, the squared classical electron radius, m^2 */
#define BEAM_RE2 7.94079248018965e-30

/* Fills the defaults of wavelength, exposure, size and fluence, and checks
 * listed sources. */
nb_status beam_resolve(nb_context *ctx, nb_scene *scene);

/* Returns NB_ERR_SCENE if the beam or the spindle has no direction, or if the polarization
 * axis lies along the beam and is needed. */
nb_status beam_check_directions(nb_context *ctx, const nb_scene *scene);

/* Counts the sources: sets ngrid and nsource. The step counts must be resolved. */
nb_status beam_count(nb_context *ctx, const nb_scene *scene, struct scene_fixed *fixed);

/* Fills the grid positions of generated sources; does nothing for listed ones. */
void beam_fill(const nb_scene *scene, struct scene_fixed *fixed);

/* Computes source i, with a weight that is not yet divided by the sum. */
nb_status beam_source(nb_context *ctx, const nb_scene *scene,
                      const struct scene_fixed *fixed, int i, struct phys_source *out);

/* Computes all sources (fixed->nsource), with weights that add up to 1. */
nb_status beam_derive(nb_context *ctx, const nb_scene *scene,
                      const struct scene_fixed *fixed, struct phys_source *out);

/* Computes the horizontal and vertical deviation of source i, radian; 0 for a
 * listed one. */
void beam_deviation(const nb_scene *scene, const struct scene_fixed *fixed, int i,
                    double deviation[2]);

/* Computes the rotation (rows) to the frame of dxtbx, whose beam travels along -z: the
 * rotation of the convention, then the smallest rotation that takes the beam to -z. */
void beam_turn_to_dxtbx(const nb_scene *scene, double turn[3][3]);

/* Returns the wavelength of the scene, A; of listed sources the mean. */
double beam_wavelength(const nb_scene *scene);

/* Returns the shortest wavelength of the scene, A. */
double beam_shortest(const nb_scene *scene);

#endif
