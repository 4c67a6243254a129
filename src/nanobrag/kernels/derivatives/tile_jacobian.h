/*
 * tile_jacobian.h - rows of the Jacobian of a tile: what the photons of each pixel change
 * by along tangents of the frame, and with the structure factors.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_DERIVATIVES_TILE_JACOBIAN_H
#define NB_KERNELS_DERIVATIVES_TILE_JACOBIAN_H

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "kernels/job.h"
#include "physics/frame_tangent.h"

/* directions in which the frame changes */
struct tangents {
    int n;
    const struct phys_frame_tangent *dot; /* (n); without boxes of structure factors */
    const unsigned char *turns; /* (n) 1: an orientation turns, or changes its weight */
};

/* Slopes in the structure factors, of which a tile sees few: a column of numbers, one for
 * each pixel, for each that was met. */
struct columns {
    const int *owner; /* (box) whose column a place belongs to; below 0: nobody's */
    int *at; /* (owners) number of the column; -1: not met yet */
    int *used; /* (owners) whose the columns are */
    int n;
    size_t workspace; /* numbers that `slope` holds */
    double *slope; /* n columns */
    int full; /* 1: one more was met than there is room for */
    /* of a pixel, where kernels work one after the other: all places, which stay 0 */
    double *box;
    struct phys_touched touched;
};

/* the column of a place, of so many pixels; NULL: nobody's, or there is no room */
static inline double *columns_take(struct columns *c, int place, int pixels)
{
    const int owner = c->owner[place];
    double *column;

    if (owner < 0) return NULL;
    if (c->at[owner] >= 0) return c->slope + (size_t)c->at[owner] * (size_t)pixels;
    if ((size_t)(c->n + 1) * (size_t)pixels > c->workspace) {
        c->full = 1;
        return NULL;
    }
    assert(c->slope);
    column = c->slope + (size_t)c->n * (size_t)pixels;
    memset(column, 0, (size_t)pixels * sizeof *column);
    c->used[c->n] = owner;
    c->at[owner] = c->n++;
    return column;
}

static inline void columns_clear(struct columns *c)
{
    for (int i = 0; i < c->n; i++) c->at[c->used[i]] = -1;
    c->n = c->full = 0;
}

/* Rows of a tile: change[d TILE_PIXELS + i] of pixel i along tangent d, columns unless
 * NULL, and the photons. `room`: jacobian_workspace_size() bytes. Stops early when the
 * columns are full.
 */
typedef void tile_jacobian(const struct job *job, const struct tile *tile,
                           const struct tangents *along, void *workspace,
                           struct columns *columns, double *photons, double *change);

/* a lane for each tangent, or the lists of a cotangent */
static inline size_t jacobian_workspace_size(size_t tangents, size_t sources,
                                             size_t orientations)
{
    return tangents * TILE_PIXELS * sizeof(double) + sources * sizeof(struct phys_source)
           + orientations * sizeof(struct phys_rotation);
}

#endif
