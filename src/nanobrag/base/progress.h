/*
 * progress.h - how far a call is, and whether its caller asked to stop. A call makes one of
 * these and passes it down; each of its passes over the samples reports to it. The fraction
 * reported to the handler never decreases, even if an image is computed a second time.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BASE_PROGRESS_H
#define NB_BASE_PROGRESS_H

#include <stdatomic.h>

#include "base/context.h"

/* A handler of progress gets the fraction of the call that is done; it returns nonzero to
 * ask the call to stop. */
typedef int progress_handler(void *user, double fraction);

struct progress {
    nb_context *ctx;
    progress_handler *handler; /* NULL: none */
    void *user;
    /* pass: passes before this one; weight: passes that it counts for; passes: of the
     * call */
    double pass, weight, passes;
    int lattices; /* passes for one image: one for each lattice; 0 stands for 1 */
    double reported; /* the last fraction reported */
    double base, step; /* fraction of the pass before its current part, and of each step */
    atomic_int done, stop;
};

/* Begin a call of one pass, which reports to the context's handler. */
void progress_begin(struct progress *progress, nb_context *ctx);

/* Set the number of passes of the call before the first one. All passes have equal length;
 * with several lattices each is repeated for each lattice. */
void progress_passes(struct progress *progress, int passes);

/* Make the next pass number `pass` of the call; it counts for `weight` of them. */
void progress_at(struct progress *progress, int pass, int weight);

/* Let the next pass count for `weight` passes. */
void progress_weigh(struct progress *progress, int weight);

/* Begin a pass, and count it in the context. With `planned` compiled mode chose its
 * schedule. */
void progress_start(struct progress *progress, int planned);

/* Begin the part of a pass that starts at the fraction `begin` and covers `share` of the
 * pass, in `steps` steps. */
void progress_part(struct progress *progress, double begin, double share, int steps);

/* Count a step. Any thread may call this; the first thread calls the handler. */
void progress_step(struct progress *progress);

/* Report that `share` of the current step is done, within a long one. Returns 1 once the
 * handler has asked to stop. */
int progress_within(struct progress *progress, double share);

/* Returns 1 once the handler has asked to stop. */
int progress_stopped(struct progress *progress);

/* Call the handler within a long step. Returns 1 once it has asked to stop. */
int progress_asked(struct progress *progress);

/* Returns NB_ERR_CANCELLED once the handler has asked to stop. */
nb_status progress_check(struct progress *progress);

/* End a pass, and report it. Returns the result of progress_check(). */
nb_status progress_end(struct progress *progress);

#endif
