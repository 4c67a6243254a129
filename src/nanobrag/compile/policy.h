/*
 * policy.h - the choice of strategy, precision and instruction set, which decide the
 * kernels.
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
    double tolerance; /* largest error allowed, as a fraction of the image's peak */
    int tolerance_given;
    struct kernel_set kernels, all; /* for the chosen strategy; for every strategy */
    /* estimated work of lanes and of spots for an automatic choice, ns of one core */
    double lanes_work, spots_work;
    const char *why; /* the reason for the strategy, in words */
};

/* Choose the kernels by the options, the machine and the environment. Errors:
 * NB_ERR_ARGUMENT, NB_ERR_UNSUPPORTED. */
nb_status policy_kernels(nb_context *ctx, const nb_options *options, struct policy *out);

/* Choose the strategy by the first frames, one for each panel. `samples` is the number of
 * rendered samples, for one source and orientation; `around` is the number of samples among
 * which the strategy spots has to find the spots. If the options leave the strategy open,
 * it becomes spots or lanes; where spots are impossible, lanes. Kernels in float are
 * dropped if their rounding exceeds the tolerance. */
void policy_strategy(struct policy *policy, const struct phys_frame *frames, int panels,
                     struct phys_spec spec, double samples, double around);

/* Set the strategy and the reason for it, in words. */
void policy_set_strategy(struct policy *policy, int strategy, const char *why,
                         const struct phys_frame *frame, struct phys_spec spec);

/* Returns the variant of the kernels that a resolved scene needs. */
struct phys_spec specialize_scene(const nb_scene *scene);

#endif
