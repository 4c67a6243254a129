/*
 * row_strips.h - the loop over spots that an image, its adjoint and its reach have in
 * common. The detector is cut into strips of rows. One thread works on a strip. It visits
 * the strip for every pair of source and orientation, always in the same order, with the
 * list of reflections that may reach the strip.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_SPOTS_ROW_STRIPS_H
#define NB_KERNELS_SPOTS_ROW_STRIPS_H

#include "base/progress.h"
#include "kernels/job.h"
#include "kernels/spots/ewald.h"
#include "kernels/spots/spots.h"

/* A group with more candidates, or with more rows of reflections to search, is refused:
 * the list would take more than 0.8 GB, or the search more than about a second. */
enum { STRIPS_CANDIDATES = 1 << 25 };
static const double strips_rows = 1e8;

/* Rows of pixels in a strip, and rows of tiles. */
enum { STRIP_ROWS = 64, STRIP_TILES = STRIP_ROWS / TILE_SLOW };

/* Visits one pair on one layer of a strip. `hits` is a workspace for scanning `list`. */
typedef void strip_visit(const void *user, int chunk, const struct splat_layer *splat_layer,
                         const struct pair *pair, const struct reflections *list,
                         int *hits);

/* Called when a chunk has visited all of its strips on a panel for a group of pairs. */
typedef void strip_leave(const void *user, int chunk, int panel);

/* The arguments of strips_run(). */
struct strips {
    const struct job *job; /* the job of the image */
    double radius; /* radius of a spot, 1/A */
    double *bragg; /* Bragg sums, in the same order as the job's photons; strips_run() sets
                      them to 0 first; NULL: none */
    double begin, share; /* share of the progress before this run; share of this run */
    int first, end; /* the strips to visit, end excluded; 0, 0: all of the window */
    int chunks; /* one thread works on chunk c, the strips i with i % chunks = c;
                   0: each strip is a chunk */
    strip_visit *visit;
    strip_leave *leave; /* may be NULL */
    const void *user;
    struct spots_work *work;
};

/* Fills in the first group of sources and orientations that share a list of candidates.
 * Returns the number of pairs in the group. */
double strips_group(struct ewald *ewald, const struct phys_frame *frame);

/* Returns how many of a job's threads are useful for `work`, which counts the reflections
 * to scan and the samples to finish. */
int strips_threads(const struct job *job, double work);

/* Sets *first and *end to the range of strips of an image that hold a tile, end excluded.
 * Without panels, strips are numbered by their rows. With several panels they are numbered
 * from 0, panel after panel, and only from the first to the last strip of a panel that
 * holds a tile. */
void strips_of_window(const struct window *image, int *first, int *end);

/* Returns the first row of tiles in a strip, counted in the image. */
int strips_row(const struct window *image, int strip);

/* Visits all strips that hold a tile of the job, for all pairs. Errors: NB_ERR_MEMORY,
 * NB_ERR_CANCELLED. */
nb_status strips_run(struct progress *progress, const struct strips *strips);

#endif
