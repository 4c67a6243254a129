/*
 * tangent.h - the tangent of scene_derive(): the derivative of the frame along a direction
 * of change of the scene.
 *
 * `scene` is resolved. `dot` is the direction: its doubles are the tangents of the scene's
 * doubles, in the same units, and all its other members are 0. Each function computes the
 * members of `out` that belong to one part of scene/. X_tangent() is the tangent of X(),
 * formula by formula. No function allocates memory; the caller owns the arrays of `out`.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GRAD_TANGENT_H
#define NB_GRAD_TANGENT_H

#include <nanobrag/scene.h>

#include "physics/frame_tangent.h"
#include "scene/crystal.h"
#include "scene/scene.h"

/* Computes the crystal's numbers of the tangent (physics/frame_tangent.def); `axes` come
 * from crystal_derive(). */
void crystal_tangent(const nb_scene *scene, const nb_scene *dot,
                     const struct crystal_axes *axes, struct phys_frame_tangent *out);

/* The unit vectors of mosaic_frame(), perhaps turned by phi, and their tangents. */
struct mosaic_change {
    double at[3][3], dot[3][3];
};

/* Returns the tangent of sampling_step(); range_dot is the tangent of the range. */
double sampling_step_tangent(const struct scene_steps *steps, double range_dot);

/* Returns the tangent of the angle of phi step i, degree. */
double sampling_phi_tangent(const nb_scene *scene, const nb_scene *dot,
                            const struct scene_fixed *fixed, int i);

/* Returns the tangent of the weight of domain d; mean_dot is the tangent of the mean
 * weight. */
double mosaic_weight_tangent(const nb_scene *scene, const nb_scene *dot, int d, double mean,
                             double mean_dot);

/* Computes the tangent of mosaic_apply() for a constant `factor`. */
void mosaic_apply_tangent(const nb_scene *scene, const nb_scene *dot,
                          const struct mosaic_change *frame, double factor,
                          const double v[3], const double v_dot[3], double out[3]);

/* Computes the tangent of the rotation of a domain, as a rotation vector, radian. */
void mosaic_rotation_tangent(const nb_scene *scene, const nb_scene *dot,
                             const struct mosaic_change *frame,
                             const struct scene_domain *domain, double rotation[3]);

/* Computes the unit vectors of mosaic_frame() and their tangents from the axes and their
 * strain. */
struct mosaic_change mosaic_frame_tangent(const struct crystal_axes *axes,
                                          const double strain[9]);

/* Computes the tangents of the members from pix0 to layer_mu. If the detector has panels,
 * the members that differ among panels are 0; panel_tangent() computes them. */
void detector_tangent(const nb_scene *scene, const nb_scene *dot,
                      const struct scene_fixed *fixed, struct phys_frame_tangent *out);

/* Computes the tangents of the numbers of panel i, which come first in a frame. */
void panel_tangent(const nb_scene *scene, const nb_scene *dot,
                   const struct scene_fixed *fixed, int i,
                   double number[PHYS_PANEL_NUMBERS]);

/* Returns 1 if the numbers of a panel may change along `dot`. */
int panels_change(const nb_scene *dot);

/* Unit vectors that all sources use, and their tangents: along the beam, along the
 * polarization axis, and normal to both. */
struct beam_vectors {
    double beam[3], axis[3], vertical[3];
    double beam_dot[3], axis_dot[3], vertical_dot[3];
};

struct beam_vectors beam_vectors_of(const nb_beam *b, const nb_beam *dot);

/* Returns the tangent of beam_wavelength(). */
double beam_wavelength_tangent(const nb_scene *scene, const nb_scene *dot);

/* Computes the tangents of the sources (nsource) and of kahn. */
void beam_tangent(const nb_scene *scene, const nb_scene *dot,
                  const struct scene_fixed *fixed, struct phys_frame_tangent *out);

/* Computes the tangent of `broad` from the strain in `out`; 0 if the crystal is not
 * continuous. */
void continuous_tangent(const nb_scene *scene, const nb_scene *dot,
                        const struct scene_fixed *fixed, const struct crystal_axes *axes,
                        struct phys_frame_tangent *out);

/* Computes the tangents of bragg_scale and amorphous_scale. `frame` is the frame of the
 * scene; only its counts are read. */
void background_tangent(const nb_scene *scene, const nb_scene *dot,
                        const struct phys_frame *frame, struct phys_frame_tangent *out);

/* Computes the tangent of the whole frame, with `rotation` (nphi x ndomains) but without
 * the box of structure factors. */
void scene_derive_tangent(const nb_scene *scene, const nb_scene *dot,
                          const struct scene_fixed *fixed, const struct crystal_axes *axes,
                          const struct phys_frame *frame, struct phys_frame_tangent *out);

#endif
