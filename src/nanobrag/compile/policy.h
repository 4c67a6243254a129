/*
 * policy.h - which kernel runs a job.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_POLICY_H
#define NB_COMPILE_POLICY_H

#include <nanobrag/simulator.h>

#include "base/context.h"
#include "kernels/kernels.h"

/* how a simulator computes, for all its life */
struct policy {
    int strategy, precision; /* enums nb_strategy, nb_precision */
    int automatic; /* the strategy was left open */
    int measured_transforms; /* of the point spread */
    double tolerance; /* of the image's peak */
    struct kernel_set kernels, all; /* for the strategy, and before it was settled */
    double lanes_work, spots_work; /* of an open strategy: estimates, ns of one core */
    const char *why; /* this strategy */
};

/* Decide by what was asked for, the machine and the environment. */
nb_status policy_kernels(nb_context *ctx, const nb_options *options, struct policy *out);

/* Settle the strategy for a first frame and its number of samples (sub-pixels, layers):
 * spots or lanes where that was left open, lanes
 * where spots cannot do; and drop the kernels in float where their rounding would never do.
 */
void policy_strategy(struct policy *policy, const struct phys_frame *frame,
                     struct phys_spec spec, double samples);

/* Settle it otherwise, for a reason. */
void policy_take(struct policy *policy, int strategy, const char *why,
                 const struct phys_frame *frame, struct phys_spec spec);

/* What a kernel for this resolved scene is specialised on. */
struct phys_spec specialize_scene(const nb_scene *scene);

#endif
