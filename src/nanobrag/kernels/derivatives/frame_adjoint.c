/* frame_adjoint.c - from sums over samples to the cotangents of the frame.
 * SPDX-License-Identifier: MIT */
#include "kernels/derivatives/frame_adjoint.h"

void frame_adjoint_crystal(struct phys_spec spec, double scale,
                           const double sums[FRAME_CRYSTAL], struct phys_frame_tangent *bar)
{
    const struct frame_crystal crystal = frame_crystal(spec);

    for (int i = 0; i < crystal.count; i++)
        phys_numbers(bar)[crystal.first + i] += scale * sums[i];
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
