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

/* Fills the defaults of wavelength, exposure, beam size and fluence, and checks listed
 * sources. */
nb_status beam_resolve(nb_context *ctx, nb_scene *scene);

/* Returns NB_ERR_SCENE if the beam or the spindle has no direction, or if the polarization
 * axis lies along the beam and is needed. */
nb_status beam_check_directions(nb_context *ctx, const nb_scene *scene);

/* Sets fixed->ngrid and fixed->nsource. The numbers of divergence and dispersion steps must
 * be resolved. */
nb_status beam_count(nb_context *ctx, const nb_scene *scene, struct scene_fixed *fixed);

/* Fills fixed->beamlet, the grid positions of generated sources. Does nothing if the
 * sources are listed. */
void beam_fill(const nb_scene *scene, struct scene_fixed *fixed);

/* Computes source i. Its weight is not yet divided by the sum of all weights. */
nb_status beam_source(nb_context *ctx, const nb_scene *scene,
                      const struct scene_fixed *fixed, int i, struct phys_source *out);

/* Computes all sources (fixed->nsource), with weights that add up to 1. */
nb_status beam_derive(nb_context *ctx, const nb_scene *scene,
                      const struct scene_fixed *fixed, struct phys_source *out);

/* Computes the horizontal and vertical deviation of generated source i from the beam,
 * radian; 0 if the sources are listed. */
void beam_deviation(const nb_scene *scene, const struct scene_fixed *fixed, int i,
                    double deviation[2]);

/* Computes the rotation matrix (rows) from the laboratory to the frame of dxtbx, where the
 * beam travels along -z. The result is the fixed rotation of the convention, followed by
 * the smallest rotation that takes the beam to -z. */
void beam_turn_to_dxtbx(const nb_scene *scene, double turn[3][3]);

/* Returns the wavelength of the scene, A; if sources are listed, their mean by weight. */
double beam_wavelength(const nb_scene *scene);

/* Returns the shortest wavelength of the scene, A. */
double beam_shortest(const nb_scene *scene);

#endif
