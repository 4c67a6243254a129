/*
 * slope.h - a small change of the frame, member for member: as a tangent, what the frame
 * changes by along a direction; as a cotangent, what a number changes by per unit of each
 * member. The inner product of the two is a derivative.
 *
 * Orientations change in two ways. All of them share the cell: rows a, b, c become
 * (1 + strain) times themselves, so that a cotangent of it is the sum over samples of
 * slope times index, whatever the orientation. And each may turn about the crystal.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_SLOPE_H
#define NB_PHYSICS_SLOPE_H

#include "frame.h"

/* of one orientation */
struct phys_turn {
    double by[3]; /* axes += by x axes, radian */
    double weight;
};

struct phys_slope {
    /* detector, metres */
    double pix0[3], fast[3], slow[3], normal[3];
    double pixel, distance, close_distance;
    double layer_step, layer_offset, layer_mu;
    /* beam */
    double kahn;
    /* crystal */
    double strain[9]; /* axes_i += sum over j of strain[3 i + j] axes_j */
    double ncells[3], peak, metric[6], fudge, b_factor, default_f;
    /* photons */
    double bragg_scale, amorphous_scale;
    /* behind the numbers, the lists */
    struct phys_source *source; /* members in the sense of the above  (nsource)      */
    struct phys_turn *turn; /*                                (norientation) */
    double *f; /* the box as in the frame, its default behind the last; a cotangent
                  may do without (NULL) */
};

#endif
