/*
 * call.h - the calls of a simulator in compiled mode: the signature of a call, and its plan
 * from the context's cache, or else made and put there.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_CALL_H
#define NB_COMPILE_CALL_H

#include <nanobrag/compile.h>

#include "base/progress.h"
#include "compile/plan.h"
#include "compile/policy.h"
#include "compile/tune/tune.h"

/* what compiled mode did for a simulator, and what its signatures have in common */
struct plans {
    nb_context *ctx;
    const struct policy *policy;
    size_t pixels; /* of an image */
    struct signature common;
    uint32_t free[4]; /* which parameters, in signatures of derivatives */
    int single_orientation; /* 1: images may take the kernel for one orientation */
    struct plan last[PLAN_OPERATIONS]; /* of the last call of a kind; hash 0: none */
    nb_compile_stats stats;
    uint64_t fallbacks_before; /* of the context, when the simulator was made */
    char text[4096]; /* of nb_simulator_explain() */
};

struct call {
    enum operation operation;
    int directions; /* of a Jacobian, else 0 */
    int donated; /* 1: the output lies in memory that was given away */
    tune_run *run; /* repeats the call while it is tuned; NULL: it is not */
    void *user;
};

/* 1 unless compiled mode is off, or the reference runs, which has no other form. */
int call_is_compiled(const struct plans *plans);

/* The plan of a call into its job: kernels and schedule. Nothing where it is not compiled.
 * `progress`: of the call. Errors: NB_ERR_MEMORY, those of tune_schedule(). */
nb_status call_plan(struct plans *plans, struct progress *progress, const struct call *call,
                    struct job *job);

/* The plan that an image would take, for one that was not yet made. */
void call_preview(const struct plans *plans, struct plan *out);

#endif
