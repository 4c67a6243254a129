/*
 * mosaic.h - random rotations: the crystal's misset and its mosaic domains.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_MOSAIC_H
#define NB_SCENE_MOSAIC_H

#include "scene/crystal.h"
#include "scene/scene.h"

/* Angles (degree, about x, y, z) of a random orientation from three uniforms of the
 * stream that `seed` starts. `quirk`: nanoBragg's cap of 90 radian, not uniform. */
void mosaic_random_misset(int64_t seed, int quirk, struct random_stream *random,
                          double misset[3]);

/* Draw the domains of the scene; the first is undisturbed. */
void mosaic_fill(const nb_scene *scene, struct random_stream *random,
                 struct scene_domain *domain);

/* Mean of the weights of all domains; 1 where none are given. And their sum. */
double mosaic_mean_weight(const nb_scene *scene);
double mosaic_sum_weights(const double *weight, int ndomains);

/* Weight of domain d over their mean. */
double mosaic_weight(const nb_scene *scene, int d, double mean);

/* Directions of the three spreads at phi = 0: along a, c* x a and c*. */
void mosaic_frame(const struct crystal_axes *axes, double frame[3][3]);

/* 1 where the spread depends on the direction. */
int mosaic_is_anisotropic(const nb_scene *scene);

/* Rotation vector of a domain whose spread is that of the scene's mosaic, anisotropic,
 * radian. */
void mosaic_vector(const nb_scene *scene, const double frame[3][3],
                   const struct scene_domain *domain, double out[3]);

/* Rotation matrix (rows) of a domain in a scene. */
void mosaic_rotation(const nb_scene *scene, const double frame[3][3],
                     const struct scene_domain *domain, double rotation[3][3]);

#endif
