/*
 * call.h - the calls of a simulator in compiled mode. A call has a signature, under which
 * its plan is found in the context's cache, or made and saved there.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_CALL_H
#define NB_COMPILE_CALL_H

#include <nanobrag/compile.h>

#include "compile/plan.h"
#include "compile/policy.h"

/* The state of compiled mode in a simulator. `common` has the members that the signatures
 * of all its calls share. */
struct plans {
    nb_context *ctx;
    const struct policy *policy;
    size_t pixels; /* numbers in a packed image */
    struct signature common;
    uint32_t free[4]; /* a bit for each free parameter, for signatures of derivatives */
    int single_orientation; /* 1: images may use the kernel for one orientation */
    struct plan last[PLAN_OPERATIONS]; /* the last plan of each operation; hash 0: none */
    nb_compile_stats stats;
    uint64_t fallbacks_before; /* the context's fallbacks when the simulator was made */
    char text[4096]; /* the text of nb_simulator_explain() */
};

struct call {
    enum operation operation;
    int directions; /* number of directions of a Jacobian, else 0 */
    int donated; /* 1: the output overwrites a donated input */
};

/* Returns 1 unless compiled mode is off, or the strategy is the reference, which always
 * runs uncompiled. */
int call_is_compiled(const struct plans *plans);

/* Set the kernels and the schedule of a job by the plan of a call. Does nothing if the call
 * is not compiled. Errors: NB_ERR_MEMORY. */
nb_status call_plan(struct plans *plans, const struct call *call, struct job *job);

/* Write the plan that the next image will have, without computing one. */
void call_preview(const struct plans *plans, struct plan *out);

#endif
