/*
 * call.h - the calls of a simulator in compiled mode: it signs a call and finds its plan in
 * the context's cache, or makes the plan and saves it there.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_CALL_H
#define NB_COMPILE_CALL_H

#include <nanobrag/compile.h>

#include "compile/plan.h"
#include "compile/policy.h"

/* The work of compiled mode for a simulator, and the members that all signatures of its
 * calls share. */
struct plans {
    nb_context *ctx;
    const struct policy *policy;
    size_t pixels; /* packed numbers of an image */
    struct signature common;
    uint32_t free[4]; /* the free parameters, in signatures of derivatives */
    int single_orientation; /* 1: images may take the kernel for one orientation */
    struct plan last[PLAN_OPERATIONS]; /* the last plan of each operation; hash 0: none */
    nb_compile_stats stats;
    uint64_t fallbacks_before; /* the context's fallbacks before the simulator was made */
    char text[4096]; /* the text of nb_simulator_explain() */
};

struct call {
    enum operation operation;
    int directions; /* of a Jacobian, else 0 */
    int donated; /* 1: the output overwrites a donated input */
};

/* Returns 1 unless compiled mode is off, or the strategy is the reference, which has no
 * other form. */
int call_is_compiled(const struct plans *plans);

/* Set the kernels and the schedule of a job by the plan of a call. Does nothing if the call
 * is not compiled. Errors: NB_ERR_MEMORY. */
nb_status call_plan(struct plans *plans, const struct call *call, struct job *job);

/* Write the plan that an image will take, before the first one is computed. */
void call_preview(const struct plans *plans, struct plan *out);

#endif
