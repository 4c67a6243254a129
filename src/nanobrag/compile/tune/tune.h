/*
 * tune.h - what compiled mode measures when it is asked to tune: schedules, and a strategy
 * that was left open.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_TUNE_TUNE_H
#define NB_COMPILE_TUNE_TUNE_H

#include "base/progress.h"
#include "compile/plan.h"
#include "compile/policy.h"

/* A call once more, by the schedule of `job`, with nothing of the caller's written. */
typedef nb_status tune_run(void *user, struct progress *progress, const struct job *job);

/* a call that may be run again and again */
struct rehearsal {
    nb_context *ctx;
    struct progress *call; /* of the call at hand, which stands still meanwhile */
    struct job job;
    const char *kernel; /* instruction set of the kernels */
    tune_run *run; /* NULL: it may not */
    void *user;
    size_t pixels; /* of the photons that it makes, in memory of the tuner's; 0: none */
};

/* The schedule that is known for a plan, of this process or the file; nothing without one.
 * Errors: those of context_fall_back(), for a file that is no good. */
nb_status tune_recall(nb_context *ctx, const char *kernel, struct plan *plan);

/* The same, and where none is known and compiled mode tunes the fastest. On a busy machine,
 * and for long calls, the estimate stays. Errors: NB_ERR_CANCELLED, those of the job and of
 * context_fall_back(). */
nb_status tune_schedule(struct rehearsal *rehearsal, struct plan *plan);

/* Of an open strategy the one that is faster here, when compiled mode tunes: measured once
 * in a process, and saved. The rehearsed call computes by `policy`; `common`: what the
 * signatures of the simulator have in common. Errors: as tune_schedule(). */
nb_status tune_strategy(struct rehearsal *rehearsal, struct policy *policy,
                        const struct signature *common);

#endif
