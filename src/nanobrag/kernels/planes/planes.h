/*
 * planes.h - a plane of background in each box of a window, eliminated from a loss. For
 * given photons I, the planes minimise the loss of I + plane, so that the loss is a
 * function of I alone. Its slopes by I equal the slopes at fixed planes, because at the
 * minimum the loss does not change with the planes to first order. From the matrix J^T W J
 * of the loss, the part that the planes explain is subtracted.
 *
 * A plane is a + b u + c v, with u and v from -1 to 1 across the box. A pixel belongs to
 * the first box that holds it. One thread solves a box, and sums over boxes are added in
 * order, so the results have the same bits for any number of threads.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_PLANES_PLANES_H
#define NB_KERNELS_PLANES_PLANES_H

#include <float.h>
#include <math.h>

#include "base/arena.h"
#include "base/array.h"
#include "kernels/derivatives/jacobian.h"
#include "kernels/planes/plane_step.h"

struct normal_sums;

/* Why a box has no plane; PLANE_FITS: the box has a plane. */
enum plane_fault { PLANE_FITS, PLANE_NEGATIVE_WEIGHT, PLANE_NEGATIVE_COUNT };

/* The plane of one box. */
struct plane {
    double at[PLANE_TERMS]; /* a, b, c: photons */
    int positive; /* 1: the plane may not be negative in its box */
    double value; /* loss of the box */
    /* (P^T W P)^-1 for the changes that the plane may make; P has the columns 1, u, v */
    double inverse[PLANE_TERMS][PLANE_TERMS];
    int fault, slow, fast; /* enum plane_fault, and the first pixel with a fault */
    int first; /* index of the box's first piece; below 0: none */
};

/* A block of pixels of a box, in the workspace of one thread. */
enum { PLANE_BLOCK = 4096 };
struct plane_pixels {
    double *photons, *observed, *share, *u, *v; /* (PLANE_BLOCK) */
    int n; /* number of pixels loaded */
    int slow, fast; /* the pixel of the box at which the next block begins */
    int whole; /* 1: the block holds all pixels of the box */
};

/* A piece: the pixels that a tile and a box share. Its P^T W J is in plane_columns.sums. */
struct plane_piece {
    int box, chunk;
    int next; /* next piece of the same box; below 0: none */
    int head, tail; /* first and last of its entries in the chunk's list; below 0: none */
};

/* P^T W times the column of structure factor f, summed over one piece; `next` is the next
 * entry of the piece. */
struct plane_entry {
    int f, next;
    double sum[PLANE_TERMS];
};
struct plane_entries {
    struct plane_entry *entry;
    int n, room;
    int failed; /* 1: there was no memory for an entry */
};

/* The sums from which the planes' part of a normal matrix is computed. */
struct plane_columns {
    size_t tangents, f;
    int chunks;
    int *first; /* (ntile + 1) index of the first piece of each tile */
    struct plane_piece *piece;
    double *sums; /* (pieces x PLANE_TERMS x tangents) P^T W J of each piece */
    struct plane_entries *entries; /* (chunks) */
    double *box, *solved; /* (PLANE_TERMS x tangents) `box`: P^T W J of the current box;
                             `solved`: (P^T W P)^-1 times `box` */
    double *f_box; /* (f x PLANE_TERMS) P^T W J of the box's structure factors */
    double *before; /* (tangents + f) diagonal of the matrix before elimination */
    int *f_used, *f_at; /* structure factors of the current box; (f) place of each in
                           f_used, -1: none */
};

struct planes {
    const struct window *window;
    size_t nbox, threads;
    int (*box)[4]; /* (nbox) fast0 fast1 slow0 slow1, ends excluded */
    int *owner; /* index of the box that each pixel of the window belongs to, packed; -1:
                   none */
    double *bar, *weight; /* slope and curvature of the loss by each pixel, packed */
    struct plane *plane; /* (nbox) */
    struct plane_pixels *pixels; /* (threads) */
    struct plane_columns columns;
};

/* The loss that the planes minimise. */
struct plane_target {
    const double *photons; /* photons of an image, all or packed (base/window.h) */
    int packed;
    const struct nb_array *observed, *weight; /* photons; weights, NULL: all are 1 */
    struct phys_loss_model model;
    loss_of_pixels *loss;
};

/* planes_take() takes the arrays of `planes` from an arena; window, nbox and threads must
 * be set. planes_draw() then fills in the arrays that depend only on the boxes. */
void planes_take(struct arena *arena, struct planes *planes);
void planes_draw(struct planes *planes, const int *box);

/* planes_solve() finds the planes and sets `bar` and `weight`. After it, planes_loss()
 * returns the loss, and planes_fault() the first box that has a fault, or NULL. */
void planes_solve(const struct planes *planes, const struct plane_target *target);
double planes_loss(const struct planes *planes);
const struct plane *planes_fault(const struct planes *planes);

/* Writes a (photons) and the slopes along fast and slow (photons/pixel) of a box's
 * plane. */
void planes_report(const struct planes *planes, size_t box, double out[PLANE_TERMS]);

/* Copies the slopes and, unless NULL, the curvatures of n pixels of row s from pixel f on,
 * which must lie side by side in the packed arrays. */
void planes_row(const struct planes *planes, int s, int f, int n, double *bar,
                double *weight);

/* ---- the normal matrix ---- */

/* planes_pieces() counts the pieces, planes_columns_take() takes the arrays for this number
 * of them from an arena, and planes_cut() fills in the pieces. planes_columns_free() frees
 * the lists of entries, which planes_entries_bytes() measures. */
size_t planes_pieces(const struct planes *planes);
void planes_columns_take(struct arena *arena, size_t pieces, struct planes *planes);
void planes_cut(struct planes *planes);
void planes_columns_free(struct plane_columns *columns);
size_t planes_entries_bytes(const struct plane_columns *columns);

/* planes_clear() sets the sums of a chunk to 0. planes_add_tile() adds P^T W J of a tile,
 * or of a part of a tile. */
void planes_clear(const struct planes *planes, int chunk);
void planes_add_tile(const struct planes *planes, int chunk,
                     const struct adjoint_kernels *adjoint_kernels,
                     const struct jacobian_tile *jacobian);

/* Subtracts the part that the planes explain from the lower triangle of J^T W J, from the
 * diagonal of the structure factors and, if `coupling` is 1, from the coupling block.
 * Returns 0 if there was no memory for the entries. */
int planes_eliminate(const struct planes *planes, int coupling, struct normal_sums *sums);

/* Subtracts the part that the planes explain from W times a column of J: W P (P^T W P)^-1
 * P^T times `weighted`, the pixels of a rectangle (fast0 fast1 slow0 slow1), row after
 * row. */
void planes_project(const struct planes *planes, const int rectangle[4], double *weighted);

/* ---- within kernels/planes ---- */

/* Returns the value of a plane at a pixel, photons. If the plane may not be negative, a
 * value within rounding of 0 becomes 0. */
static inline double plane_value(const double *at, int positive, double u, double v)
{
    const double plane = at[0] + u * at[1] + v * at[2];
    const double rounding = 4 * DBL_EPSILON * (at[0] + fabs(at[1]) + fabs(at[2]));

    return positive && plane < rounding ? 0 : plane;
}

/* Returns 1 if the plane may change at a pixel. A plane that may not be negative stays 0 at
 * a pixel where it is 0: the allowed changes of its three terms cancel there, except for
 * rounding errors. If they counted, the curvature of the pixel would multiply these errors,
 * and the curvature of a dark pixel is large. */
static inline int plane_moves(const struct plane *plane, double u, double v)
{
    return !plane->positive || plane_value(plane->at, 1, u, v) > 0;
}

/* Returns u of column `at`, or v of row `at`, of a box from .. end - 1: -1 in its first
 * pixel, 0 in the middle, 1 in its last pixel. */
static inline double plane_across(int from, int end, int at)
{
    return end - from > 1 ? (double)(2 * at - from - end + 1) / (end - from - 1) : 0;
}

#endif
