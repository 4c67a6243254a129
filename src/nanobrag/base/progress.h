/*
 * progress.h - how far a call is, and whether its caller asked to stop. A simulator has one
 * struct progress. A call consists of passes over the samples, and each pass reports to it.
 * The fraction that the handler receives never decreases, even if an image is computed a
 * second time.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BASE_PROGRESS_H
#define NB_BASE_PROGRESS_H

#include <stdatomic.h>

#include "base/context.h"

/* The caller's handler. `fraction` is the part of the call that is done. A nonzero result
 * asks the call to stop. */
typedef int progress_handler(void *user, double fraction);

struct progress {
    nb_context *ctx;
    progress_handler *handler; /* NULL: none */
    void *user;
    /* pass: number of passes before the current one; weight: number of passes for which the
     * current one counts; passes: number of passes in the call */
    double pass, weight, passes;
    /* number of lattices, which take separate passes; 0 stands for 1 */
    int lattices;
    double reported; /* the largest fraction reported */
    /* base: fraction of the pass before its current part; step: fraction of one step */
    double base, step;
    atomic_int done, stop;
};

/* Begin a call. The call has one pass unless progress_passes() follows. */
void progress_begin(struct progress *progress, nb_context *ctx);

/* Set the number of passes of a call, before the first one. All passes count as equally
 * long. Each is repeated for each lattice. */
void progress_passes(struct progress *progress, int passes);

/* Set the number of the next pass in the call, and the number of passes for which it
 * counts. */
void progress_at(struct progress *progress, int pass, int weight);

/* Set the number of passes for which the next pass counts. */
void progress_weigh(struct progress *progress, int weight);

/* Begin a pass, and count it as a kernel launch in the context. If `planned` is 1, it is
 * counted as a launch planned by compiled mode too. */
void progress_start(struct progress *progress, int planned);

/* Begin a part of a pass, in `steps` steps. The part begins at the fraction `begin` of the
 * pass and covers the fraction `share`. */
void progress_part(struct progress *progress, double begin, double share, int steps);

/* Count a step as done. Any thread may call this; only the first thread calls the
 * handler. */
void progress_step(struct progress *progress);

/* Report within a long step that `share` of it is done. Returns 1 once the handler has
 * asked to stop. */
int progress_within(struct progress *progress, double share);

/* Returns 1 once the handler has asked to stop. */
int progress_stopped(struct progress *progress);

/* Call the handler with an unchanged fraction, within a long step. Returns 1 once the
 * handler has asked to stop. */
int progress_asked(struct progress *progress);

/* Returns NB_ERR_CANCELLED once the handler has asked to stop, else NB_OK. */
nb_status progress_check(struct progress *progress);

/* End a pass and report this. Returns the result of progress_check(). */
nb_status progress_end(struct progress *progress);

#endif
