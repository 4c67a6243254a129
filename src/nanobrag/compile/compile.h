/*
 * compile.h - which kernel runs a job.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_COMPILE_H
#define NB_COMPILE_COMPILE_H

#include <nanobrag/simulator.h>

#include "kernels/kernels.h"

/* how a simulator computes, for all its life */
struct policy {
    int strategy, precision; /* enums nb_strategy, nb_precision */
    double tolerance; /* of the image's peak */
    struct kernel_pair kernels;
    const char *why; /* this strategy */
};

/* Decide by what was asked for, the machine and the environment. */
nb_status policy_kernels(nb_context *ctx, const nb_options *options, struct policy *out);

/* What a kernel for this resolved scene is specialised on. */
struct phys_spec specialize_scene(const nb_scene *scene);

#endif
