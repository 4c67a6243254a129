/*
 * frame_adjoint.h - the last step of the adjoints of lanes and of spots: from sums
 * over samples to the cotangents of the crystal and the detector.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_DERIVATIVES_FRAME_ADJOINT_H
#define NB_KERNELS_DERIVATIVES_FRAME_ADJOINT_H

#include "physics/frame_tangent.h"
#include "physics/spec.h"
#include "physics/step_vjp.h"

/* The largest count of numbers that describe the lattice factor: metric and fudge
 * factor. */
enum { FRAME_CRYSTAL = PHYS_LAST_fudge - PHYS_AT_metric + 1 };

_Static_assert(PHYS_AT_fudge == PHYS_LAST_metric + 1,
               "fudge follows metric in frame_tangent.def");

/* Which numbers of the frame describe the lattice factor: `count` numbers, the first of
 * them at index `first` (PHYS_AT_x). */
struct frame_crystal {
    int first, count;
};

static inline struct frame_crystal frame_crystal(struct phys_spec spec)
{
    static const struct frame_crystal cells = {PHYS_AT_ncells, 3};
    static const struct frame_crystal profile = {PHYS_AT_metric, FRAME_CRYSTAL};

    return spec.shape == PHYS_SQUARE ? cells : profile;
}

/* Adds `scale` times `sums`, the cotangents of the numbers of frame_crystal(), to `bar`. */
void frame_adjoint_crystal(struct phys_spec spec, double scale,
                           const double sums[FRAME_CRYSTAL],
                           struct phys_frame_tangent *bar);

/* Adds the cotangent of a rotation from one axis of the cell. A rotation changes this axis
 * by rotation x axis, and `bar` is the cotangent of the axis. */
static inline void frame_adjoint_rotation(const double axis[3], const double bar[3],
                                          struct phys_rotation *rotation)
{
    rotation->by[0] += axis[1] * bar[2] - axis[2] * bar[1];
    rotation->by[1] += axis[2] * bar[0] - axis[0] * bar[2];
    rotation->by[2] += axis[0] * bar[1] - axis[1] * bar[0];
}

/* Calls phys_places_vjp() with `scale` times the sums; `depth` is the layer's depth, m. */
void frame_adjoint_places(const struct phys_frame *frame, int layer, double depth,
                          double scale, const struct phys_place_sums *sums,
                          struct phys_frame_tangent *bar);

#endif
