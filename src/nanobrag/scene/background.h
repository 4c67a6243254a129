/*
 * background.h - amorphous material in the beam.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_BACKGROUND_H
#define NB_SCENE_BACKGROUND_H

#include "scene/scene.h"

#define AVOGADRO 6.02214179e23

nb_status background_resolve(nb_context *ctx, nb_scene *scene);

/* The members of the frame that belong to the background; after all counts are in it. */
void background_frame(const nb_scene *scene, struct phys_frame *frame);

/* nanoBragg's I_bg, which it adds to the sum of F^2. */
double background_quirk_intensity(const nb_scene *scene);

#endif
