/*
 * list.h - the spots of a continuous crystal: which reflections light which part of a
 * panel, and the numbers of each spot that stay fixed while parameters change.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_LIST_H
#define NB_KERNELS_CONTINUOUS_LIST_H

#include <stddef.h>

#include "base/progress.h"
#include "kernels/continuous/forms/view.h"
#include "kernels/continuous/pattern.h"
#include "kernels/continuous/samples.h"
#include "kernels/job.h"

/* An ellipse of samples: X = x + xa a + xb b, Y = y + yb b with a^2 + b^2 < 1. */
struct spot_ellipse {
    double x, y, xa, xb, yb;
};

struct listed_spot {
    struct spot_name name;
    double weight; /* weight of a point of Gauss's rule over phi; else 1 */
    struct spot_ellipse spot, part; /* the spot; and the part of it, with its own nodes */
    double cell[4]; /* ranges of a and b, in the spot's ellipse, that the part covers */
    /* log I is below the cut where conic(X, Y) > 1, or where the maximum along z is further
     * than `reach` from `middle` */
    double conic[6]; /* XX, 2XY, YY, 2X, 2Y, 1, from the middle of the spot */
    double maximum[3]; /* 1, X, Y */
    double middle, reach;
    double step, line_step;
    on_nodes at;
    size_t line_at; /* where the energies of a line begin among `numbers`; 5 x NODES */
    struct star star; /* used if the spot's name has one */
    size_t star_at; /* where its points begin (nodes.h) */
    double square, scale; /* F^2; F^2 times all weights */
    int place; /* of F in the box */
    double c[SPOT_COEFFICIENTS];
    double variance; /* variance of its row of the spectrum */
};

struct spot_table {
    struct listed_spot *spot;
    size_t n, capacity;
    double *numbers; /* on nodes: energies of lines and points of stars */
    size_t nnumber, number_capacity;
};

void list_free(struct spot_table *table);

/* How far spots are followed: to exp(-cut) of their peak. */
struct list_settings {
    double cut;
    int mosaics; /* 1: the core alone */
    const struct job *job; /* of the image; its window decides which spots count */
    const struct pattern *pattern;
};

/* Lists the spots of a view in place of the table's old contents. Errors: NB_ERR_MEMORY,
 * NB_ERR_CANCELLED. */
nb_status list_spots(struct progress *progress, const struct view *view,
                     const struct list_settings *settings, struct spot_table *out);

/* Points `nodes` to the numbers of a listed spot. */
void list_nodes(const struct listed_spot *spot, const struct spot_table *table,
                const struct pattern *pattern, struct spot_nodes *nodes);

/* Finds the sub-pixel rows *first .. *end - 1 of a spot's part on a panel of `nrows`
 * rows. */
void list_rows_of(const struct listed_spot *spot, int nrows, int *first, int *end);

/* Writes the samples of sub-pixel rows from *row on, up to `end`, in the tiles of the
 * window of the panel, and sets *row to the first that did not fit. */
int list_samples(const struct listed_spot *spot, const struct job *panel, int *row, int end,
                 int most, struct sample_row *out);

/* Writes the samples in the rendered pixels of a part of a tile, on a panel of `nfast`
 * columns. Pixels have the numbers of grid_list(). */
int list_shown(const struct listed_spot *spot, int over, int nfast, const struct tile *part,
               int *row, int end, int most, struct sample_row *out);

/* Calls visit() for the tiles of the image that the spot's samples may lie in, until it
 * returns 0. Returns 0 then. */
int list_tiles(const struct listed_spot *spot, const struct job *panel,
               int (*visit)(void *user, int tile), void *user);

#endif
