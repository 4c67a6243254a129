/*
 * list.h - the spots of a continuous crystal: which reflections light which part of a
 * panel, and those numbers of each spot that stay fixed while parameters change.
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

/* An ellipse of samples (X, Y): X = x + xa a + xb b, Y = y + yb b with a^2 + b^2 < 1; all
 * in sub-pixels from the corner of the panel. */
struct spot_ellipse {
    double x, y, xa, xb, yb;
};

/* A spot, or a part of it that has its own nodes. */
struct listed_spot {
    struct spot_name name;
    double weight; /* weight of the spot's point of Gauss's rule over phi; else 1 */
    /* ellipse of the spot, and of the part with its nodes */
    struct spot_ellipse spot, part;
    double cell[4]; /* ranges of a and b, in the spot's ellipse, that the part covers */
    /* log I is below the cut if conic(X, Y) > 1, or if the maximum along z is further than
     * `reach` from `middle` */
    double conic[6]; /* coefficients of XX, XY, YY, X, Y, 1; X, Y from (name.x, name.y) */
    double maximum[3]; /* z of the maximum: coefficients of 1, X, Y */
    double middle, reach;
    /* steps between evaluations of log I, along z and along the energy */
    double step, line_step;
    on_nodes at; /* z of the middle step at each node */
    size_t line_at; /* place in spot_table.numbers of the energies of a line, 5 x NODES */
    struct star star; /* used if name.star is not 0 */
    size_t star_at; /* place in spot_table.numbers of the star's points (nodes.h) */
    double square, scale; /* F^2; F^2 times all weights */
    int place; /* place of F in the box of structure factors */
    double c[SPOT_COEFFICIENTS];
    double variance; /* variance of the spot along the energy, for which its row of the
                        spectrum is made */
};

struct spot_table {
    struct listed_spot *spot;
    size_t n, capacity;
    double *numbers; /* numbers on nodes: energies of lines and points of stars */
    size_t nnumber, number_capacity;
};

void list_free(struct spot_table *table);

/* Which spots are listed, and how far. */
struct list_settings {
    double cut; /* a spot is followed to exp(-cut) of its peak */
    int mosaics; /* 1: only the core of the mosaic spread; 2: core and tail */
    const struct job *job; /* the job of the image; its window decides which spots count */
    const struct pattern *pattern;
};

/* Replaces the contents of a table by the spots of a frame, whose numbers `view` has.
 * Errors: NB_ERR_MEMORY, NB_ERR_CANCELLED. */
nb_status list_spots(struct progress *progress, const struct view *view,
                     const struct list_settings *settings, struct spot_table *out);

/* Makes `nodes` refer to the numbers of a listed spot. */
void list_nodes(const struct listed_spot *spot, const struct spot_table *table,
                const struct pattern *pattern, struct spot_nodes *nodes);

/* Finds the rows of sub-pixels that a spot's part covers, *first .. *end - 1, on a panel of
 * `nrows` rows of sub-pixels. */
void list_rows_of(const struct listed_spot *spot, int nrows, int *first, int *end);

/* Writes the samples of a spot's part in the tiles of a panel's window, row by row of
 * sub-pixels from *row to end - 1, at most `most` elements of `out`. Sets *row to the first
 * row that did not fit, and returns the number of elements. */
int list_samples(const struct listed_spot *spot, const struct job *panel, int *row, int end,
                 int most, struct sample_row *out);

/* Does what list_samples() does for the rendered pixels of a part of a tile, on a panel of
 * `nfast` columns. Pixels have the numbers of grid_list(). */
int list_shown(const struct listed_spot *spot, int over, int nfast, const struct tile *part,
               int *row, int end, int most, struct sample_row *out);

/* Calls visit() for each tile of the image that may hold samples of the spot, until visit()
 * returns 0. Returns 0 in this case, else 1. */
int list_tiles(const struct listed_spot *spot, const struct job *panel,
               int (*visit)(void *user, int tile), void *user);

#endif
