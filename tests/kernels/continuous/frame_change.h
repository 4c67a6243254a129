/*
 * frame_change.h - changes of a frame of one source and one orientation, that change log I
 * at its spots by about 1.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_FRAME_CHANGE_H
#define NB_TESTS_FRAME_CHANGE_H

#include "physics/frame_tangent.h"

/* A change of the frame and what it holds. */
struct frame_change {
    struct phys_frame_tangent dot;
    struct phys_source source;
    struct phys_rotation rotation;
};

/* Fills in a random change of all numbers; those of the widths go with their sizes. */
void frame_change_random(const struct phys_broad *b, unsigned seed, struct frame_change *c);

/* Keeps one kind of number of a change alone: 0 all, 1 detector, 2 beam, 3 cell and
 * orientation, 4 block, 5 what broadens. Returns its name. */
const char *frame_change_keep(int kind, struct frame_change *c);

#endif
