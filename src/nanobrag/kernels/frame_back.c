/* frame_back.c - see frame_back.h. SPDX-License-Identifier: MIT */
#include "kernels/frame_back.h"

void frame_back_crystal(struct phys_spec spec, double scale,
                        const double sums[FRAME_CRYSTAL], struct phys_slope *bar)
{
    if (spec.shape == PHYS_SQUARE) {
        for (int i = 0; i < 3; i++) bar->ncells[i] += scale * sums[i];
        return;
    }
    bar->fudge += scale * sums[0];
    for (int i = 0; i < 6; i++) bar->metric[i] += scale * sums[1 + i];
}

void frame_back_turn(const double axis[3], const double bar[3], struct phys_turn *turn)
{
    turn->by[0] += axis[1] * bar[2] - axis[2] * bar[1];
    turn->by[1] += axis[2] * bar[0] - axis[0] * bar[2];
    turn->by[2] += axis[0] * bar[1] - axis[1] * bar[0];
}

void frame_back_places(const struct phys_frame *frame, int layer, double depth,
                       double scale, const struct place_bar *sums, struct phys_slope *bar)
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
