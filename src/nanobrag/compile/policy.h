/*
 * policy.h - the choice of strategy, precision and instruction set, and so of the kernels.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_POLICY_H
#define NB_COMPILE_POLICY_H

#include <nanobrag/simulator.h>

#include "base/context.h"
#include "kernels/kernels.h"

/* The choices that hold for the whole life of a simulator. */
struct policy {
    int strategy, precision; /* enums nb_strategy, nb_precision */
    int automatic; /* 1: the strategy was chosen by the library */
    double tolerance; /* a fraction of the image's peak */
    int tolerance_given;
    struct kernel_set kernels, all; /* kernels: of the strategy; all: of every strategy */
    /* estimates for an automatic strategy, in ns of one core */
    double lanes_work, spots_work;
    const char *why; /* the reason for the strategy, in words */
};

/* Choose the kernels by the options, the machine and the environment. Errors:
 * NB_ERR_ARGUMENT, NB_ERR_UNSUPPORTED. */
nb_status policy_kernels(nb_context *ctx, const nb_options *options, struct policy *out);

/* Choose the strategy from the first frames, one for each panel, and their number of
 * samples per orientation and source. If the options leave it open, choose spots or lanes;
 * if spots are impossible, lanes. The rendered samples may hold all spots of `around`
 * samples. Kernels in float are dropped where their rounding exceeds the tolerance. */
void policy_strategy(struct policy *policy, const struct phys_frame *frames, int panels,
                     struct phys_spec spec, double samples, double around);

/* Set the strategy, with the reason in words. */
void policy_set_strategy(struct policy *policy, int strategy, const char *why,
                         const struct phys_frame *frame, struct phys_spec spec);

/* Returns the specialisation of the kernels for a resolved scene. */
struct phys_spec specialize_scene(const nb_scene *scene);

#endif
