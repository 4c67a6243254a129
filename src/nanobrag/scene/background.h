/*
 * background.h - scattering by amorphous material in the beam (docs/theory.md, 7).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_BACKGROUND_H
#define NB_SCENE_BACKGROUND_H

#include "scene/scene.h"

#define AVOGADRO 6.02214179e23

/* Fills the defaults of the background and checks its table. */
nb_status background_resolve(nb_context *ctx, nb_scene *scene);

/* Sets the members of the frame that belong to the background. The frame must already hold
 * the numbers of sources, orientations and layers. */
void background_frame(const nb_scene *scene, struct phys_frame *frame);

/* Returns nanoBragg's I_bg, photons/steradian, which nanoBragg adds to the sum of F^2. */
double background_quirk_intensity(const nb_scene *scene);

#endif
