/*
 * tangent.h - scene_derive() in a direction: what the frame changes by per unit of `dot`.
 *
 * `scene` is resolved; the doubles of `dot` hold the change of each parameter in the
 * scene's own unit, all else of it is 0. Each function fills the members of `out` that its
 * part of scene/ owns, and follows its namesake there formula by formula: X_tangent is the
 * change of what X computes. None of them allocates; the arrays of `out` are the caller's.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GRAD_TANGENT_H
#define NB_GRAD_TANGENT_H

#include <nanobrag/scene.h>

#include "physics/frame_tangent.h"
#include "scene/crystal.h"
#include "scene/scene.h"

/* The numbers of the crystal in physics/frame_tangent.def and the rotations, from the
 * changes in dot->crystal; `axes` from crystal_derive(). */
void crystal_tangent(const nb_scene *scene, const nb_scene *dot,
                     const struct crystal_axes *axes, struct phys_frame_tangent *out);

/* the frame of mosaic_frame() and its change */
struct mosaic_change {
    double at[3][3], dot[3][3];
};

/* Of a step, in the unit of its range; of phi step i, degree; of the weight of a domain,
 * with mean_dot the change of their mean; of the rotation of a domain, as a rotation
 * vector, radian. */
double sampling_step_tangent(const struct scene_steps *steps, double range_dot);
double sampling_phi_tangent(const nb_scene *scene, const nb_scene *dot,
                            const struct scene_fixed *fixed, int i);
double mosaic_weight_tangent(const nb_scene *scene, const nb_scene *dot, int d, double mean,
                             double mean_dot);
void mosaic_rotation_tangent(const nb_scene *scene, const nb_scene *dot,
                             const struct mosaic_change *frame,
                             const struct scene_domain *domain, double rotation[3]);

/* From the axes and their strain. */
struct mosaic_change mosaic_frame_tangent(const struct crystal_axes *axes,
                                          const double strain[9]);

/* pix0 to layer_mu from the detector, and from what of the beam moves it. */
void detector_tangent(const nb_scene *scene, const nb_scene *dot,
                      const struct scene_fixed *fixed, struct phys_frame_tangent *out);

/* source (nsource) and kahn from the beam. */
void beam_tangent(const nb_scene *scene, const nb_scene *dot,
                  const struct scene_fixed *fixed, struct phys_frame_tangent *out);

/* bragg_scale and amorphous_scale from fluence, scale of the crystal and thickness of the
 * water; counts from the frame of the scene. */
void background_tangent(const nb_scene *scene, const nb_scene *dot,
                        const struct phys_frame *frame, struct phys_frame_tangent *out);

/* All of it, with turn (nphi x ndomains) from the mosaic spread and from phi0, osc and axis
 * of the scan, but without the box of structure factors. */
void scene_derive_tangent(const nb_scene *scene, const nb_scene *dot,
                          const struct scene_fixed *fixed, const struct crystal_axes *axes,
                          const struct phys_frame *frame, struct phys_frame_tangent *out);

#endif
