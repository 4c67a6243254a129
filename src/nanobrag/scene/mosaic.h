/*
 * mosaic.h - random rotations: the random misset and the mosaic domains (docs/theory.md,
 * 9).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_MOSAIC_H
#define NB_SCENE_MOSAIC_H

#include "scene/crystal.h"
#include "scene/scene.h"

/* Standard deviation of the rotation of domains about an axis, over the spread. For a
 * spread of 1 a domain is rotated by the angle (1 - r^2)^(1/3) about an axis in any
 * direction, with r uniform between -1 and 1 (docs/theory.md, 9). The variance about a
 * given axis is a third of the mean square of the angle, which is Gamma(1/2) Gamma(5/3)/(2
 * Gamma(13/6)). */
#define MOSAIC_OF_SPREAD 0.49637826966267715

/* Draws a random misset (degree, about x, y, z) from the stream that `seed` starts. All
 * orientations are equally likely. With `quirk` the misset is nanoBragg's: the rotation of
 * a mosaic domain for a spread of 90 radian. */
void mosaic_random_misset(int64_t seed, int quirk, struct random_stream *random,
                          double misset[3]);

/* Places the mosaic domains of the scene evenly, with exact mean and covariance. With
 * NB_QUIRK_MOSAIC_F32 draws them as nanoBragg does. */
void mosaic_fill(const nb_scene *scene, struct random_stream *random,
                 struct scene_domain *domain);

/* Returns the mean weight of the domains; 1 if the scene has no weights. */
double mosaic_mean_weight(const nb_scene *scene);

/* Returns the sum of a list of weights. */
double mosaic_sum_weights(const double *weight, int ndomains);

/* Returns the weight of domain d divided by the mean weight. */
double mosaic_weight(const nb_scene *scene, int d, double mean);

/* Computes the unit vectors along which the three spreads are stated, at phi = 0: a, c* x a
 * and c*. These vectors turn with the crystal. */
void mosaic_frame(const struct crystal_axes *axes, double frame[3][3]);

/* Returns 1 if the spread is stated about three axes, so that it may depend on the
 * direction. */
int mosaic_is_anisotropic(const nb_scene *scene);

/* If the spread has elements off its diagonal, marks it as stated about three axes
 * (NB_GIVEN_MOSAIC_AXES); a single spread then becomes the spread about each axis. */
void mosaic_resolve(nb_scene *scene);

/* Returns 1 if the matrix of spreads is diagonal or positive semi-definite. A diagonal
 * matrix may have negative spreads, because an image depends only on the square of the
 * matrix. */
int mosaic_is_definite(const nb_crystal *crystal);

/* Returns NB_OK if mosaic_is_definite(), else sets a message and returns `refused`. */
nb_status mosaic_check(nb_context *ctx, const nb_crystal *crystal, nb_status refused);

/* Computes out = factor T v, where T is the symmetric matrix of the spreads, radian.
 * `frame` comes from mosaic_frame() and is turned by phi. */
void mosaic_apply(const nb_scene *scene, const double frame[3][3], double factor,
                  const double v[3], double out[3]);

/* Computes the rotation matrix (rows) of a domain. `frame` as in mosaic_apply(). */
void mosaic_rotation(const nb_scene *scene, const double frame[3][3],
                     const struct scene_domain *domain, double rotation[3][3]);

#endif
