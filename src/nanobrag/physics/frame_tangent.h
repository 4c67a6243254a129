/*
 * frame_tangent.h - tangents and cotangents of the frame, which share one struct. As a
 * tangent, a member holds its derivative along a direction in which the frame changes; as
 * a cotangent, it holds dL/d(member), where L is the objective, the scalar whose gradient
 * is computed. The inner product of the two is the derivative of L along that direction.
 *
 * Orientations change in two ways. They all share the cell: axis i of each changes by the
 * sum over j of strain[3 i + j] axis j, so that the strain's cotangent is a sum over
 * samples that does not depend on the orientation. And each orientation can rotate by
 * itself.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_FRAME_TANGENT_H
#define NB_PHYSICS_FRAME_TANGENT_H

#include "frame.h"
#include "phys.h"

/* The change of one orientation. */
struct phys_rotation {
    double by[3]; /* rotation vector: axes += by x axes, radian */
    double weight;
};

struct phys_touched;

struct phys_frame_tangent {
#define FRAME_NUMBER(name, dimension, count) double name dimension;
#include "frame_tangent.def"
#undef FRAME_NUMBER
    /* the lists come after the numbers */
    struct phys_source *source; /* changes of the sources (nsource) */
    struct phys_rotation *rotation; /* (norientation) */
    double *f; /* structure factors as in the frame; NULL: not used */
    struct phys_touched *touched; /* of a cotangent: places in use; or NULL */
};

/* The index of each number in the array that phys_numbers() returns. */
enum phys_number {
#define FRAME_NUMBER(name, dimension, count)                                               \
    PHYS_AT_##name, PHYS_LAST_##name = PHYS_AT_##name + (count)-1,
#include "frame_tangent.def"
#undef FRAME_NUMBER
    PHYS_NUMBERS
};

/* Returns the PHYS_NUMBERS numbers of a cotangent as one array. */
PHYS_FN double *phys_numbers(struct phys_frame_tangent *bar)
{
    return (double *)(void *)bar;
}

/* The places of a box that are not 0, in the order in which they were first written. */
struct phys_touched {
    int n, *place; /* (n) */
    unsigned char *mark; /* 1 for each of these places (box) */
};

/* Adds `value` to f[place] and records the place. */
PHYS_FN void phys_give_f(struct phys_frame_tangent *bar, int place, double value)
{
    struct phys_touched *t = bar->touched;

    bar->f[place] += value;
    if (!t || t->mark[place]) return;
    t->mark[place] = 1;
    t->place[t->n++] = place;
}

/* Returns the inner product of two arrays of n numbers. */
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

/* Returns the inner product of a source's cotangent and its tangent. */
PHYS_FN double phys_source_inner(const struct phys_source *bar,
                                 const struct phys_source *dot)
{
    return phys_inner(PHYS_SOURCE_NUMBERS, bar, dot);
}

/* Returns the inner product of a cotangent and a tangent without their boxes of
 * structure factors. */
PHYS_FN double phys_frame_inner(int nsource, int norientation,
                                const struct phys_frame_tangent *bar,
                                const struct phys_frame_tangent *dot)
{
    return phys_inner(PHYS_NUMBERS, bar, dot)
           + phys_inner(nsource * PHYS_SOURCE_NUMBERS, bar->source, dot->source)
           + phys_inner(norientation * PHYS_ROTATION_NUMBERS, bar->rotation, dot->rotation);
}

#endif
