/*
 * spots.h - the sum over reflections instead of samples: for each source and orientation
 * only those near the Ewald sphere are visited, and of those only the samples within a
 * radius. Every sample still belongs to its nearest reflection alone, so nothing is counted
 * twice; what lies outside the radius is dropped, and bounded.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_SPOTS_SPOTS_H
#define NB_KERNELS_SPOTS_SPOTS_H

#include "base/progress.h"
#include "kernels/kernels.h"
#include "kernels/spots/splat.h"

/* the candidates of one index h: `n` of them from `first` on */
struct h_layer {
    size_t first, n;
};

/* Lists of reflections, grown as a frame needs them and kept; they carry nothing from one
 * call to the next. Zero before the first use. */
struct spots_work {
    size_t capacity; /* candidates */
    struct candidate *candidates;
    size_t each; /* candidates of a thread's lists */
    int threads;
    float *lists; /* of every thread */
    int *hits;
    int nh_layers;
    struct h_layer *h_layers;
    /* of an adjoint: Bragg sums, and what a number changes by with them */
    size_t pixels;
    double *sums, *weight;
    /* of reach.c */
    size_t reach_words;
    uint64_t *reach;
};

void spots_free(struct spots_work *work);

/* Memory it holds. */
size_t spots_bytes(const struct spots_work *work);

/* Share of reciprocal space that the spots fill when no more than `tolerance` of a peak is
 * dropped; 1 or more where nothing may be dropped. */
double spots_share(const struct phys_frame *frame, struct phys_spec spec, double tolerance);

/* Estimate of what an image of so many samples costs in nanoseconds, judged by the first
 * group of sources and orientations; gives up, and returns infinity, beyond `worth` or
 * where the reflections are too many to list. A function of the numbers alone, no clock. */
double spots_cost(const struct phys_frame *frame, struct phys_spec spec, double tolerance,
                  double samples, double worth);

/* What rounding costs in float, of the peak. */
double spots_rounding(const struct phys_frame *frame, struct phys_spec spec,
                      double tolerance);

/* The same in double. */
double spots_rounding_double(const struct phys_frame *frame, struct phys_spec spec);

/* How far spots are painted and in which precision; an image that turns out to be weak
 * takes another trial. */
struct spots_attempt {
    int left, single;
    double share, radius; /* of a peak, where a spot is cut off, and 1/A */
};

struct spots_attempt spots_first(const struct kernel_set *kernels, const struct job *job);

/* 0 when an image with such a peak is good, else the next trial. */
int spots_again(const struct job *job, double peak, struct spots_attempt *attempt);

/* The Bragg sums of all samples within the radius, less constant factors, to job->photons;
 * takes such a share of the progress. */
nb_status spots_paint(struct progress *progress, const struct kernel_set *kernels,
                      const struct job *job, const struct spots_attempt *attempt,
                      double share, struct spots_work *work);

/* 1 when a tile with such Bragg sums has no photons. */
int spots_is_dark(const struct phys_frame *frame, const struct tile *tile,
                  const double *sums);

/* Run a job. Errors: NB_ERR_MEMORY, NB_ERR_CANCELLED. */
nb_status spots_forward(struct progress *progress, const struct kernel_set *kernels,
                        const struct job *job, struct spots_work *work);

#endif
