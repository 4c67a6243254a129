/*
 * amorphous.h - the structure factor of the amorphous material in the beam: a constant,
 * or a table over sin(theta)/lambda (docs/theory.md, 7).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_AMORPHOUS_H
#define NB_PHYSICS_AMORPHOUS_H

#include "frame.h"
#include "phys.h"

/* Returns the index of the first of the four nodes around x; x lies inside the table. */
PHYS_FN int phys_table_first(const struct phys_node *node, int n, double x)
{
    int low = 0, high = n - 1;

    while (high - low > 1) {
        const int middle = (low + high) / 2;

        if (node[middle].stol <= x)
            low = middle;
        else
            high = middle;
    }
    return low - 1 < 0 ? 0 : low - 1 > n - 4 ? n - 4 : low - 1;
}

/* Returns the value at x of the cubic through the four nodes around x, or the value of the
 * end node beyond the table. The n >= 4 nodes ascend. The computation is in double, because
 * the intervals of a table are narrow and the function is rarely called. */
PHYS_FN double phys_table_cubic(const struct phys_node *node, int n, double x)
{
    double sum = 0;
    int first;

    if (x <= node[0].stol) return node[0].f;
    if (x >= node[n - 1].stol) return node[n - 1].f;
    first = phys_table_first(node, n, x);
    for (int i = first; i < first + 4; i++) {
        double w = node[i].f;

        for (int j = first; j < first + 4; j++)
            if (j != i) w *= (x - node[j].stol) / (node[i].stol - node[j].stol);
        sum += w;
    }
    return sum;
}

/* Returns the derivative of phys_table_cubic() at x. */
PHYS_FN double phys_table_slope(const struct phys_node *node, int n, double x)
{
    double sum = 0;
    int first;

    if (x <= node[0].stol || x >= node[n - 1].stol) return 0;
    first = phys_table_first(node, n, x);
    for (int i = first; i < first + 4; i++)
        for (int m = first; m < first + 4; m++) {
            double w = node[i].f;

            if (m == i) continue;
            for (int j = first; j < first + 4; j++)
                if (j != i)
                    w *= (j == m ? 1 : x - node[j].stol) / (node[i].stol - node[j].stol);
            sum += w;
        }
    return sum;
}

/* Returns F in electrons; stol is sin(theta)/lambda, 1/A. */
PHYS_FN real phys_amorphous(const struct phys_frame *frame, real stol)
{
    return frame->nstol ? (real)phys_table_cubic(frame->stol, frame->nstol, stol)
                        : (real)frame->amorphous_f;
}

/* Returns dF/d(stol), electron A. */
PHYS_FN real phys_amorphous_slope(const struct phys_frame *frame, real stol)
{
    return frame->nstol ? (real)phys_table_slope(frame->stol, frame->nstol, stol) : 0;
}

/* Returns the photons that amorphous material of constant F gives to a pixel, without the
 * factors of solid angle and polarization. */
PHYS_FN double phys_amorphous_level(const struct phys_frame *frame)
{
    double light = 0;

    for (int i = 0; i < frame->nsource; i++) light += frame->source[i].weight;
    return frame->amorphous_scale * light * frame->amorphous_f * frame->amorphous_f;
}

#endif
