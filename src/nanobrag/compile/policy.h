/*
 * policy.h - chooses the kernels that run a job.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_POLICY_H
#define NB_COMPILE_POLICY_H

#include <nanobrag/simulator.h>

#include "base/context.h"
#include "kernels/kernels.h"

/* how a simulator computes during all its life */
struct policy {
    int strategy, precision; /* enums nb_strategy, nb_precision */
    int automatic; /* 1: the strategy was chosen by the library */
    int measured_transforms; /* 1: FFTW measured the transforms of the point spread */
    double tolerance; /* share of the image's peak */
    struct kernel_set kernels, all; /* of the strategy; and without regard to it */
    double lanes_work, spots_work; /* estimates for an automatic strategy, ns of one core */
    const char *why; /* the reason for the strategy, in words */
};

/* Choose the kernels by the options, the machine and the environment. Errors:
 * NB_ERR_ARGUMENT, NB_ERR_UNSUPPORTED. */
nb_status policy_kernels(nb_context *ctx, const nb_options *options, struct policy *out);

/* Choose the strategy for a first frame and its number of samples per orientation and
 * source: spots or lanes if the options leave it open, and lanes where spots are not
 * possible. Kernels in float are dropped where their rounding exceeds the tolerance. */
void policy_strategy(struct policy *policy, const struct phys_frame *frame,
                     struct phys_spec spec, double samples);

/* Set the strategy, with the reason in words. */
void policy_set_strategy(struct policy *policy, int strategy, const char *why,
                         const struct phys_frame *frame, struct phys_spec spec);

/* The specialisation of the kernels for a resolved scene. */
struct phys_spec specialize_scene(const nb_scene *scene);

#endif
