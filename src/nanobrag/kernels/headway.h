/*
 * headway.h - how far a run is. Threads finish steps; the first of them tells the handler
 * of the context, which may ask to stop. What is told never goes back, also when an image
 * is computed a second time.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_HEADWAY_H
#define NB_KERNELS_HEADWAY_H

#include <stdatomic.h>

#include "base/context.h"
#include "kernels/job.h"

struct headway {
    nb_context *ctx;
    double base, step; /* done before this part of the run, and each step's share */
    double told;
    atomic_int done, stop;
};

/* The next so many runs, alike long, are one call, and are told as one. */
void headway_passes(nb_context *ctx, int passes);

/* The next calls are together such a share of a larger one, which is told of instead, from
 * there on; 0: they are nobody's. */
void headway_share(nb_context *ctx, double from, double share);

/* Every launch of a job begins here, and is counted. */
void headway_start(struct headway *headway, nb_context *ctx, const struct job *job);

/* The part of a run that begins at a share of it and takes another, in so many steps. */
void headway_part(struct headway *headway, double begin, double share, int steps);

/* A step is done; any thread. */
void headway_step(struct headway *headway);

/* 1 once the handler asked to stop. */
int headway_stopped(struct headway *headway);

/* The same, after asking it again: within a long step. */
int headway_asked(struct headway *headway);

/* NB_ERR_CANCELLED once the handler asked to stop. */
nb_status headway_check(struct headway *headway);

/* All is done: tells so, as the last. */
nb_status headway_end(struct headway *headway);

#endif
