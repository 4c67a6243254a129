/*
 * progress.h - how far a run is. Threads finish steps; the first of them tells the handler
 * of the context, which may ask to stop. What is told never goes back, also when an image
 * is computed a second time.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_PROGRESS_H
#define NB_KERNELS_PROGRESS_H

#include <stdatomic.h>

#include "base/context.h"
#include "kernels/job.h"

struct progress {
    nb_context *ctx;
    double base, step; /* done before this part of the run, and each step's share */
    double told;
    atomic_int done, stop;
};

/* The next so many runs, alike long, are one call, and are told as one. */
void progress_passes(nb_context *ctx, int passes);

/* The next calls are together such a share of a larger one, which is told of instead, from
 * there on; 0: they are nobody's. */
void progress_share(nb_context *ctx, double from, double share);

/* Every launch of a job begins here, and is counted. */
void progress_start(struct progress *progress, nb_context *ctx, const struct job *job);

/* The part of a run that begins at a share of it and takes another, in so many steps. */
void progress_part(struct progress *progress, double begin, double share, int steps);

/* A step is done; any thread. */
void progress_step(struct progress *progress);

/* 1 once the handler asked to stop. */
int progress_stopped(struct progress *progress);

/* The same, after asking it again: within a long step. */
int progress_asked(struct progress *progress);

/* NB_ERR_CANCELLED once the handler asked to stop. */
nb_status progress_check(struct progress *progress);

/* All is done: tells so, as the last. */
nb_status progress_end(struct progress *progress);

#endif
