/* frame_adjoint.c - see frame_adjoint.h. SPDX-License-Identifier: MIT */
#include "kernels/derivatives/frame_adjoint.h"

void frame_adjoint_crystal(struct phys_spec spec, double scale,
                           const double sums[FRAME_CRYSTAL], struct phys_frame_tangent *bar)
{
    if (spec.shape == PHYS_SQUARE) {
        for (int i = 0; i < 3; i++) bar->ncells[i] += scale * sums[i];
        return;
    }
    bar->fudge += scale * sums[0];
    for (int i = 0; i < 6; i++) bar->metric[i] += scale * sums[1 + i];
}

void frame_adjoint_turn(const double axis[3], const double bar[3],
                        struct phys_rotation *rotation)
{
    rotation->by[0] += axis[1] * bar[2] - axis[2] * bar[1];
    rotation->by[1] += axis[2] * bar[0] - axis[0] * bar[2];
    rotation->by[2] += axis[0] * bar[1] - axis[1] * bar[0];
}

void frame_adjoint_places(const struct phys_frame *frame, int layer, double depth,
                          double scale, const struct phys_place_sums *sums,
                          struct phys_frame_tangent *bar)
{
    struct phys_place_sums scaled;

    for (int i = 0; i < 3; i++) {
        scaled.place[i] = scale * sums->place[i];
        scaled.fast[i] = scale * sums->fast[i];
        scaled.slow[i] = scale * sums->slow[i];
    }
    phys_places_vjp(frame, layer, depth, &scaled, phys_numbers(bar), 1);
}
