/*
 * frame_tangent.h - tangents and cotangents of the frame, which share one struct. As a
 * tangent, a member holds its derivative along a direction of change of the frame; as a
 * cotangent, it holds dL/d(member), where L is the objective, the scalar whose gradient is
 * computed. The inner product of the two is the derivative of L along that direction.
 *
 * Orientations change in two ways. The cell is common to all: axis i of each orientation
 * changes by the sum over j of strain[3 i + j] times axis j. So the cotangent of the strain
 * is one sum over the samples of all orientations. Besides, each orientation can rotate by
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
#define FRAME_NUMBER(name, dimension, count, kind) double name dimension;
#include "frame_tangent.def"
#undef FRAME_NUMBER
    struct phys_broad broad;
    /* the lists come after the numbers */
    struct phys_source *source; /* changes of the sources (nsource) */
    struct phys_rotation *rotation; /* (norientation) */
    double *f; /* structure factors as in the frame; NULL: not wanted */
    struct phys_touched *touched; /* in a cotangent: records the writes to f; or NULL */
};

/* The index of each number in the array that phys_numbers() returns. */
enum phys_number {
#define FRAME_NUMBER(name, dimension, count, kind)                                         \
    PHYS_AT_##name, PHYS_LAST_##name = PHYS_AT_##name + (count)-1,
#include "frame_tangent.def"
#undef FRAME_NUMBER
    PHYS_NUMBERS
};

PHYS_ASSERT(sizeof(struct phys_frame_tangent)
                == PHYS_NUMBERS * sizeof(double) + sizeof(struct phys_broad)
                       + 4 * sizeof(void *),
            "the numbers of a tangent are an array of double at its start");
PHYS_ASSERT(sizeof(struct phys_source) == 11 * sizeof(double)
                && sizeof(struct phys_rotation) == 4 * sizeof(double),
            "every member of a source and of a rotation is a double that can change");
PHYS_ASSERT(PHYS_NUMBERS <= 64, "a number has a bit in phys_numbers_of()");

/* Where the derivative by a number of the frame comes from, as bits. */
enum phys_kind {
    PHYS_PLACE = 1, /* the places of samples alone: phys_places_vjp() */
    PHYS_FACTOR = 2, /* a factor of samples or pixels (perhaps their places, too) */
    PHYS_STRAIN = 4, /* the axes of all orientations */
    PHYS_CELLS = 8, /* the lattice factor of the square shape */
    PHYS_WIDTH = 16, /* the lattice factor of all shapes but the square one */
    PHYS_SCALE = 32, /* a factor of the sum over samples: phys_scales_vjp() */
    PHYS_CRYSTAL = PHYS_STRAIN | PHYS_CELLS | PHYS_WIDTH
};

/* How many numbers of the frame the lattice factor depends on, for the square shape and for
 * all other shapes. */
enum phys_lattice_numbers {
/* NOLINTNEXTLINE(bugprone-macro-parentheses) */
#define FRAME_NUMBER(name, dimension, count, kind) +(count) * (PHYS_##kind == PHYS_CELLS)
    PHYS_CELLS_NUMBERS = 0
#include "frame_tangent.def"
#undef FRAME_NUMBER
    ,
/* NOLINTNEXTLINE(bugprone-macro-parentheses) */
#define FRAME_NUMBER(name, dimension, count, kind) +(count) * (PHYS_##kind == PHYS_WIDTH)
    PHYS_WIDTH_NUMBERS = 0
#include "frame_tangent.def"
#undef FRAME_NUMBER
};

/* Returns which numbers are of the given kinds: bit i stands for number i. */
PHYS_FN unsigned long long phys_numbers_of(int kinds)
{
    unsigned long long which = 0;

#define FRAME_NUMBER(name, dimension, count, kind)                                         \
    if (kinds & PHYS_##kind) which |= ((1ULL << (count)) - 1) << PHYS_AT_##name;
#include "frame_tangent.def"
#undef FRAME_NUMBER
    return which;
}

/* The numbers that differ among the panels of a detector come first; this is their
 * count. */
enum { PHYS_PANEL_NUMBERS = PHYS_LAST_close_distance + 1 };

/* Returns the PHYS_NUMBERS numbers of a cotangent as one array. */
PHYS_FN double *phys_numbers(struct phys_frame_tangent *bar)
{
    return (double *)(void *)bar;
}

/* Returns which numbers a tangent changes: bit i stands for number i. */
PHYS_FN unsigned long long phys_changed_numbers(const struct phys_frame_tangent *dot)
{
    const double *number = (const double *)(const void *)dot;
    unsigned long long which = 0;

    for (int i = 0; i < PHYS_NUMBERS; i++)
        if (number[i] != 0) which |= 1ULL << i;
    return which;
}

/* Returns 1 when a tangent changes a number of one of the given kinds. */
PHYS_FN int phys_changes(const struct phys_frame_tangent *dot, int kinds)
{
    return (phys_changed_numbers(dot) & phys_numbers_of(kinds)) != 0;
}

/* Parts of the frame that stay fixed, as bits. PHYS_FIXED_SCALE: the scale of the amorphous
 * material. PHYS_FIXED_PIXELS: the places of samples, the factors of samples and pixels,
 * and the sources. With both bits the photons of the amorphous material stay fixed. */
enum phys_fixed { PHYS_FIXED_SCALE = 1, PHYS_FIXED_PIXELS = 2 };

/* Returns the bits of the parts that stay fixed along a tangent. */
PHYS_FN int phys_fixed_along(int nsource, const struct phys_frame_tangent *dot)
{
    const double *source = (const double *)(const void *)dot->source;
    const int numbers = nsource * (int)(sizeof *dot->source / sizeof(double));
    int fixed = dot->amorphous_scale != 0 ? 0 : PHYS_FIXED_SCALE;

    if (phys_changes(dot, PHYS_PLACE | PHYS_FACTOR)) return fixed;
    for (int i = 0; i < numbers; i++)
        if (source[i] != 0) return fixed;
    return fixed | PHYS_FIXED_PIXELS;
}

/* The places of a cotangent's f that were written, in the order of the first write. */
struct phys_touched {
    int n, *place; /* n places */
    unsigned char *mark; /* as long as f; 1 at each place listed in `place`, else 0 */
};

/* Adds `value` to bar->f[place] and records the place. */
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
    PHYS_ROTATION_NUMBERS = (int)(sizeof(struct phys_rotation) / sizeof(double)),
    PHYS_BROAD_NUMBERS = (int)(sizeof(struct phys_broad) / sizeof(double))
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
           + phys_inner(PHYS_BROAD_NUMBERS, &bar->broad, &dot->broad)
           + phys_inner(nsource * PHYS_SOURCE_NUMBERS, bar->source, dot->source)
           + phys_inner(norientation * PHYS_ROTATION_NUMBERS, bar->rotation, dot->rotation);
}

#endif
