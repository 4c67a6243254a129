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
                          double scale, const struct place_bar *sums,
                          struct phys_frame_tangent *bar)
{
    const double over = frame->oversample, sub = frame->pixel / over;
    double into = 0, pixel = 0;

    for (int i = 0; i < 3; i++) {
        const double at = scale * sums->place[i];
        const double fast = scale * sums->fast[i], slow = scale * sums->slow[i];

        bar->pix0[i] += at;
        bar->fast[i] += sub * fast;
        bar->slow[i] += sub * slow;
        bar->normal[i] += depth * at;
        into += frame->normal[i] * at;
        pixel += frame->fast[i] * fast + frame->slow[i] * slow;
    }
    bar->pixel += pixel / over;
    bar->layer_offset += into;
    bar->layer_step += layer * into;
}
