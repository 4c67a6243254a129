/*
 * frame_adjoint.h - the last step of the adjoints of lanes and of spots: it turns sums over
 * samples into the cotangents of the crystal and the detector.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_DERIVATIVES_FRAME_ADJOINT_H
#define NB_KERNELS_DERIVATIVES_FRAME_ADJOINT_H

#include "physics/frame_tangent.h"
#include "physics/spec.h"
#include "physics/step_vjp.h"

/* The most numbers that describe the crystal's shape: three numbers of cells, or a fudge
 * factor and the six of the metric. */
enum { FRAME_CRYSTAL = 7 };

/* Adds `scale` times `sums`, the cotangents of those numbers, to `bar`. */
void frame_adjoint_crystal(struct phys_spec spec, double scale,
                           const double sums[FRAME_CRYSTAL],
                           struct phys_frame_tangent *bar);

/* Adds the cotangent of a rotation. A rotation changes an axis of the cell by rotation x
 * axis, and `bar` is the cotangent of that axis. */
void frame_adjoint_turn(const double axis[3], const double bar[3],
                        struct phys_rotation *rotation);

/* phys_places_vjp() of `scale` times sums; `depth` of the layer, m */
void frame_adjoint_places(const struct phys_frame *frame, int layer, double depth,
                          double scale, const struct phys_place_sums *sums,
                          struct phys_frame_tangent *bar);

#endif
