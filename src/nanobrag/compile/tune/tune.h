/*
 * tune.h - what compiled mode measures when it is asked to tune: the schedule of a plan,
 * and a strategy that was left open. It measures dry runs, which repeat a call on scratch
 * memory.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_TUNE_TUNE_H
#define NB_COMPILE_TUNE_TUNE_H

#include "base/progress.h"
#include "compile/plan.h"
#include "compile/policy.h"

/* Run a call once more by the schedule of `job`, without writing the caller's memory. */
typedef nb_status tune_run(void *user, struct progress *progress, const struct job *job);

/* A call that may be repeated as a dry run. */
struct rehearsal {
    nb_context *ctx;
    struct progress *call; /* of the call itself, which waits meanwhile */
    struct job job;
    const char *kernel; /* instruction set of the kernels */
    tune_run *run; /* NULL: it cannot be repeated */
    void *user;
    /* of the photons it writes, packed, for which the tuner allocates memory; 0: none */
    size_t pixels;
};

/* Set the schedule of a plan to the tuned one that the process or the file knows; does
 * nothing if there is none. Errors: those of context_fall_back(), for a damaged file. */
nb_status tune_recall(nb_context *ctx, const char *kernel, struct plan *plan);

/* Do the same; if none is known and compiled mode tunes, measure which schedule is the
 * fastest. The estimate stays for long calls and on a busy machine. Errors:
 * NB_ERR_CANCELLED, those of the job and of context_fall_back(). */
nb_status tune_schedule(struct rehearsal *rehearsal, struct plan *plan);

/* Set an open strategy to the faster one on this machine, when compiled mode tunes. It is
 * measured once in a process, and saved. The dry runs compute by `policy`; `common` is what
 * the signatures of the simulator share. Errors: those of tune_schedule(). */
nb_status tune_strategy(struct rehearsal *rehearsal, struct policy *policy,
                        const struct signature *common);

#endif
