/*
 * progress.h - how far a call is, and whether its caller asked to stop. A call makes one of
 * these and hands it down; each of its passes over the samples reports to it. What the
 * handler hears never goes back, also when an image is computed a second time.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BASE_PROGRESS_H
#define NB_BASE_PROGRESS_H

#include <stdatomic.h>

#include "base/context.h"

/* a handler: the fraction of the call that is done; not 0 asks to stop */
typedef int progress_handler(void *user, double fraction);

struct progress {
    nb_context *ctx;
    progress_handler *handler; /* NULL: none */
    void *user;
    double pass, weight,
        passes; /* passes done, those of the pass at hand, and of the call */
    double reported; /* what the handler heard last */
    double base, step; /* of the pass: done before this part of it, and each step's share */
    atomic_int done, stop;
};

/* A call of one pass begins, which reports to the context's handler. */
void progress_begin(struct progress *progress, nb_context *ctx);

/* The call is of so many passes, alike long, none of which is done. */
void progress_passes(struct progress *progress, int passes);

/* The next pass is number `pass` of the call, and stands for so many of them. */
void progress_at(struct progress *progress, int pass, int weight);

/* A pass begins; the context counts it. `planned`: compiled mode chose its schedule. */
void progress_start(struct progress *progress, int planned);

/* The part of a pass that begins at a share of it and takes another, in so many steps. */
void progress_part(struct progress *progress, double begin, double share, int steps);

/* A step is done; any thread. The first of them calls the handler. */
void progress_step(struct progress *progress);

/* 1 once the handler asked to stop. */
int progress_stopped(struct progress *progress);

/* The same, after asking it again: within a long step. */
int progress_asked(struct progress *progress);

/* NB_ERR_CANCELLED once the handler asked to stop. */
nb_status progress_check(struct progress *progress);

/* The pass is done, which is reported. */
nb_status progress_end(struct progress *progress);

#endif
