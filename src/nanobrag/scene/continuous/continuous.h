/*
 * continuous.h - decides which scenes have a continuous crystal, and computes the numbers
 * of its frame. In such a crystal mosaic spread, rotation, energies and directions are
 * normal distributions that are integrated in closed form (docs/theory.md, 16).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_CONTINUOUS_CONTINUOUS_H
#define NB_SCENE_CONTINUOUS_CONTINUOUS_H

#include "physics/frame.h"
#include "scene/crystal.h"
#include "scene/scene.h"

/* ---- model.c ---- */
/* Turns NB_MOSAIC_AUTO into NB_MOSAIC_DOMAINS if the user gave a number, weights or a seed
 * of domains. Call it before defaults are filled in. */
void continuous_leave_domains(nb_scene *scene);

/* Decides between NB_MOSAIC_DOMAINS and NB_MOSAIC_GAUSS. Call it after N is resolved and
 * before counts are. Returns NB_ERR_SCENE if the model that was asked for cannot compute
 * the scene. */
nb_status continuous_resolve(nb_context *ctx, nb_scene *scene, struct scene_fixed *fixed);

/* Returns 1 if the scene has the continuous model; call it after continuous_resolve(). */
int continuous_is_on(const nb_scene *scene);

/* Returns the dimensions that the resolved scene integrates, as bits NB_INTEGRATED_... */
int continuous_integrates(const nb_scene *scene);

/* ---- broad.c ---- */
/* Returns half the range of phi that each orientation integrates, degree; 0 if phi is
 * sampled. */
double continuous_half_range(const nb_scene *scene, const struct scene_fixed *fixed);

/* Returns the variance of divergence i (0: horizontal, 1: vertical) for a full width of 1;
 * 0 if sources are listed or the divergence is sampled. */
double continuous_divergence_variance(const nb_scene *scene, int i);

/* Computes the widths of the spots of a continuous crystal. */
void continuous_broad(const nb_scene *scene, const struct scene_fixed *fixed,
                      const struct crystal_axes *axes, struct phys_broad *out);

#endif
