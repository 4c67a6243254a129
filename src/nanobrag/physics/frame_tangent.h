/*
 * frame_tangent.h - a small change of the frame, member for member: as a tangent, what the
 * frame changes by along a direction; as a cotangent, what a number changes by per unit of
 * each member. The inner product of the two is a derivative.
 *
 * Orientations change in two ways. All of them share the cell: rows a, b, c become
 * (1 + strain) times themselves, so that a cotangent of it is the sum over samples of
 * slope times index, whatever the orientation. And each may turn about the crystal.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_FRAME_TANGENT_H
#define NB_PHYSICS_FRAME_TANGENT_H

#include "frame.h"
#include "phys.h"

/* of one orientation */
struct phys_rotation {
    double by[3]; /* axes += by x axes, radian */
    double weight;
};

struct phys_touched;

struct phys_frame_tangent {
#define FRAME_NUMBER(name, dimension, count) double name dimension;
#include "frame_tangent.def"
#undef FRAME_NUMBER
    /* behind the numbers, the lists */
    struct phys_source *source; /* members in the sense of the above  (nsource)      */
    struct phys_rotation *rotation; /*                                (norientation) */
    double *f; /* the box as in the frame, its default behind the last; either may do
                  without (NULL) */
    struct phys_touched *touched; /* of a cotangent: which places are in use; or NULL */
};

/* where the numbers lie in a row of all of them, which phys_numbers() is */
enum phys_number {
#define FRAME_NUMBER(name, dimension, count)                                               \
    PHYS_AT_##name, PHYS_LAST_##name = PHYS_AT_##name + (count)-1,
#include "frame_tangent.def"
#undef FRAME_NUMBER
    PHYS_NUMBERS
};

/* the numbers of a cotangent (PHYS_NUMBERS) */
PHYS_FN double *phys_numbers(struct phys_frame_tangent *bar)
{
    return (double *)(void *)bar;
}

/* places of a box that are not 0, in the order in which they became so */
struct phys_touched {
    int n, *place; /* (n) */
    unsigned char *mark; /* 1 for each of them (box) */
};

/* f[place] += value */
PHYS_FN void phys_give_f(struct phys_frame_tangent *bar, int place, double value)
{
    struct phys_touched *t = bar->touched;

    bar->f[place] += value;
    if (!t || t->mark[place]) return;
    t->mark[place] = 1;
    t->place[t->n++] = place;
}

/* the inner product of two rows of n numbers */
PHYS_FN double phys_inner(int n, const void *bar, const void *dot)
{
    const double *a = (const double *)bar, *b = (const double *)dot;
    double sum = 0;

    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

enum {
    PHYS_SOURCE_NUMBERS = (int)(sizeof(struct phys_source) / sizeof(double)),
    PHYS_ROTATION_NUMBERS = (int)(sizeof(struct phys_rotation) / sizeof(double))
};

/* the inner product of a source's cotangent and its tangent */
PHYS_FN double phys_source_inner(const struct phys_source *bar,
                                 const struct phys_source *dot)
{
    return phys_inner(PHYS_SOURCE_NUMBERS, bar, dot);
}

/* the inner product of a cotangent and a tangent, their boxes left out */
PHYS_FN double phys_frame_inner(int nsource, int norientation,
                                const struct phys_frame_tangent *bar,
                                const struct phys_frame_tangent *dot)
{
    return phys_inner(PHYS_NUMBERS, bar, dot)
           + phys_inner(nsource * PHYS_SOURCE_NUMBERS, bar->source, dot->source)
           + phys_inner(norientation * PHYS_ROTATION_NUMBERS, bar->rotation, dot->rotation);
}

#endif
