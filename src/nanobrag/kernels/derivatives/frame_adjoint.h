/*
 * frame_adjoint.h - the last step back to the frame, which the adjoints of lanes and of
 * spots have in common: what sums over samples say about crystal and detector.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_DERIVATIVES_FRAME_ADJOINT_H
#define NB_KERNELS_DERIVATIVES_FRAME_ADJOINT_H

#include "physics/frame_tangent.h"
#include "physics/spec.h"
#include "physics/step_vjp.h"

/* slopes in the numbers of the crystal: its cells (3), or fudge factor and metric */
enum { FRAME_CRYSTAL = 7 };

void frame_adjoint_crystal(struct phys_spec spec, double scale,
                           const double sums[FRAME_CRYSTAL],
                           struct phys_frame_tangent *bar);

/* An axis of the cell changes by turn x axis, and its cotangent is `bar`. */
void frame_adjoint_turn(const double axis[3], const double bar[3],
                        struct phys_rotation *rotation);

/* phys_places_vjp() of `scale` times sums; `depth` of the layer, m */
void frame_adjoint_places(const struct phys_frame *frame, int layer, double depth,
                          double scale, const struct phys_place_sums *sums,
                          struct phys_frame_tangent *bar);

#endif
