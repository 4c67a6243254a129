/*
 * continuous.h - the crystal whose mosaic spread, rotation, energies and directions are
 * normal distributions, integrated in closed form (docs/theory.md, 16): which scenes have
 * it, and the numbers of their frame.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_CONTINUOUS_CONTINUOUS_H
#define NB_SCENE_CONTINUOUS_CONTINUOUS_H

#include "physics/frame.h"
#include "scene/crystal.h"
#include "scene/scene.h"

/* ---- model.c ---- */
/* Turns NB_MOSAIC_AUTO into NB_MOSAIC_DOMAINS if the given scene asks for domains or needs
 * them. Call it before defaults are filled in. */
void continuous_leave_domains(nb_scene *scene);

/* Decides between NB_MOSAIC_DOMAINS and NB_MOSAIC_GAUSS, once N is resolved and before
 * counts are. Refuses a model that cannot compute the scene. */
nb_status continuous_resolve(nb_context *ctx, nb_scene *scene, struct scene_fixed *fixed);

/* Returns 1 if the scene has the continuous model; call it after continuous_resolve(). */
int continuous_is_on(const nb_scene *scene);

/* Returns the dimensions that the resolved scene integrates, as bits NB_INTEGRATED_... */
int continuous_integrates(const nb_scene *scene);

/* ---- broad.c ---- */
/* Returns half the range over which phi is integrated for each orientation, degree. */
double continuous_half_range(const nb_scene *scene, const struct scene_fixed *fixed);

/* Returns the variance of divergence i for a full width of 1; 0 if it is a list. */
double continuous_divergence_variance(const nb_scene *scene, int i);

/* Computes the widths of the spots of a continuous crystal. */
void continuous_broad(const nb_scene *scene, const struct scene_fixed *fixed,
                      const struct crystal_axes *axes, struct phys_broad *out);

#endif
