/*
 * tile_jacobian.h - the Jacobian of a tile: the derivatives of the photons of
 * each pixel along tangents of the frame, and by the structure factors.
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

/* The directions along which the frame changes. */
struct tangents {
    int n;
    const struct phys_frame_tangent *dot; /* (n) without boxes of structure factors */
    const unsigned char *rotates; /* (n) 1: an orientation rotates or changes its weight */
    /* bit i: number i of the frame changes along some tangent */
    unsigned long long numbers;
};

/* The derivatives by the structure factors. A tile depends on few structure factors, so
 * only these have a column, which holds one number for each pixel. The owner of a column is
 * the number of its structure factor. Several places of the box may hold the same structure
 * factor: they have one owner, and their derivatives go to one column. */
struct columns {
    const int *owner; /* (box) owner of the column of a place; below 0: no column */
    int *at; /* (owners) number of the owner's column; -1: none yet */
    int *used; /* (n) owners of the columns */
    int n;
    size_t capacity; /* numbers that `slope` can hold */
    double *slope; /* the n columns, one after another */
    int full; /* 1: a column was needed that does not fit */
    /* for kernels that compute pixel after pixel: the derivatives of one pixel by the F at
     * every place of the box; all are 0 between pixels */
    double *box;
    struct phys_touched touched;
};

/* Returns the column of an owner, for a tile of `pixels` pixels; a new column is set to 0.
 * Returns NULL if a new column does not fit. */
static inline double *columns_of(struct columns *c, int owner, int pixels)
{
    double *column;

    if (c->at[owner] >= 0) return c->slope + (size_t)c->at[owner] * (size_t)pixels;
    if ((size_t)(c->n + 1) * (size_t)pixels > c->capacity) {
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

/* Returns the column of the owner of a place as columns_of() does; NULL without an
 * owner. */
static inline double *columns_take(struct columns *c, int place, int pixels)
{
    const int owner = c->owner[place];

    return owner < 0 ? NULL : columns_of(c, owner, pixels);
}

/* Removes all columns. */
static inline void columns_clear(struct columns *c)
{
    for (int i = 0; i < c->n; i++) c->at[c->used[i]] = -1;
    c->n = c->full = 0;
}

/* Computes the Jacobian of a tile: the photons, change[d TILE_PIXELS + i] of pixel i along
 * tangent d, and, unless NULL, the columns. `workspace` has jacobian_workspace_size()
 * bytes. The kernel stops early if the columns are full. */
typedef void tile_jacobian(const struct job *job, const struct tile *tile,
                           const struct tangents *along, void *workspace,
                           struct columns *columns, double *photons, double *change);

/* Returns the bytes of workspace that a tile_jacobian() or spot_rows() needs. A cotangent
 * in the reference kernel needs its lists. For each pixel, rows from spots need ten numbers
 * and two for each tangent, one of these counts rounded up to whole blocks (spot_rows.h).
 * The lanes need one number for each pixel and tangent. */
static inline size_t jacobian_workspace_size(size_t tangents, size_t sources,
                                             size_t orientations)
{
    return (2 * tangents + 17) * TILE_PIXELS * sizeof(double)
           + sources * sizeof(struct phys_source)
           + orientations * sizeof(struct phys_rotation);
}

#endif
