/*
 * spots.h - the spots strategy, which sums over reflections instead of samples. For each
 * pair of source and orientation it visits only the reflections near the Ewald sphere, and
 * splats each on the samples within a radius. Every sample still belongs to its nearest
 * reflection alone, so nothing is counted twice. Contributions outside the radius are
 * dropped; the share of a spot's peak that may be dropped bounds them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_SPOTS_SPOTS_H
#define NB_KERNELS_SPOTS_SPOTS_H

#include "base/progress.h"
#include "kernels/kernels.h"
#include "kernels/spots/splat.h"

/* The candidates of one index h, or of one panel: `n` candidates, the first at `first`. */
struct h_layer {
    size_t first, n;
};

struct continuous_work;

/* The workspace of the spots strategy. The workspace grows if a frame needs more, and later
 * calls reuse it, but no result depends on its contents before a call. All members are zero
 * before the first use. */
struct spots_work {
    size_t capacity; /* candidates for which there is memory */
    struct candidate *candidates;
    size_t each; /* candidates that the lists of one thread can hold */
    int threads; /* threads that have lists */
    float *lists; /* h, k, l of the candidates, for every thread */
    int *hits; /* workspace of strip_visit(), for every thread */
    int nh_layers;
    struct h_layer *h_layers;
    /* for a detector of several panels: the candidates of each panel, and its first
     * strip */
    size_t nlocated;
    struct candidate *located;
    struct ewald_ray *ray; /* (nray) rays of `candidates`, at the same places */
    size_t nray;
    int npanels;
    struct h_layer *of_panel; /* (npanels) places in `located` */
    int *first_strip; /* (npanels + 1) */
    /* for an adjoint: the cotangents of the Bragg sums, packed */
    size_t pixels;
    double *weight;
    /* for reach.c: the bits of all cells */
    size_t reach_words;
    uint64_t *reach;
    /* for rows/tile_spots.c: the spots of rows of tiles; rows[0] is row `first_row` of the
     * window */
    int first_row;
    size_t nrows;
    struct spot_row *rows;
    /* workspace for a continuous crystal; the simulator owns it */
    struct continuous_work *continuous;
};

void spots_free(struct spots_work *work);

/* Returns the bytes of memory that a workspace holds. */
size_t spots_bytes(const struct spots_work *work);

/* Returns the share of reciprocal space that the spots fill if at most `tolerance` of the
 * image's peak may be dropped. The share is 1 or more if nothing may be dropped. */
double spots_share(const struct phys_frame *frame, struct phys_spec spec, double tolerance);

/* Estimates the time of an image by spots in nanoseconds, from the first group of sources
 * and orientations. `lit` is the number of samples of each pair that lie in spots. Counting
 * stops once the estimate exceeds `limit`. Returns infinity if there are too many
 * reflections to list. No clock is read, so equal arguments give equal estimates. */
double spots_cost(const struct phys_frame *frames, int panels, struct phys_spec spec,
                  double tolerance, double lit, double limit);

/* Returns the rounding error of spots in float, as a fraction of the image's peak. */
double spots_rounding(const struct phys_frame *frame, struct phys_spec spec,
                      double tolerance);

/* Returns the rounding error of spots in double, as a fraction of the image's peak. */
double spots_rounding_double(const struct phys_frame *frame, struct phys_spec spec);

/* What the spots are for: an image, or derivatives, which need more of the spots' tails. */
enum spots_use { SPOTS_IMAGE, SPOTS_DERIVATIVES };

/* One attempt at an image: the radius of the spots and the precision. An image that turns
 * out to be weak needs another attempt. */
struct spots_attempt {
    int left, single; /* number of attempts left; 1: this attempt is in float */
    /* share of its peak at which a spot ends; its radius there, 1/A */
    double share, radius;
};

/* Returns the first attempt at the image of a job. */
struct spots_attempt spots_first(const struct kernel_set *kernels, const struct job *job,
                                 enum spots_use use);

/* Returns 0 if an image with this peak is precise enough; otherwise changes `attempt` to
 * the next attempt and returns 1. */
int spots_again(const struct job *job, double peak, struct spots_attempt *attempt);

/* Computes the Bragg sums of all pixels, over the samples within the attempt's radius and
 * without constant factors, in job->photons. The call takes `share` of the progress.
 * Errors: NB_ERR_MEMORY, NB_ERR_CANCELLED. */
nb_status spots_splat(struct progress *progress, const struct kernel_set *kernels,
                      const struct job *job, const struct spots_attempt *attempt,
                      double share, struct spots_work *work);

/* Returns 1 if a tile with these Bragg sums has no photons; `frame` is the frame of any
 * panel. */
int spots_is_dark(const struct phys_frame *frame, const struct tile *tile,
                  const double *sums);

/* Computes the photons of a job. Errors: NB_ERR_MEMORY, NB_ERR_CANCELLED. */
nb_status spots_forward(struct progress *progress, const struct kernel_set *kernels,
                        const struct job *job, struct spots_work *work);

#endif
