/*
 * compile.h - which kernel runs a job.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_COMPILE_H
#define NB_COMPILE_COMPILE_H

#include <nanobrag/simulator.h>

#include "kernels/kernels.h"

/* Kernels of the strategy asked for; AUTO: lanes. `strategy` says which it came to. */
nb_status policy_kernels(nb_context *ctx, const nb_options *options,
                         const struct kernels **kernels, int *strategy);

/* What a kernel for this resolved scene is specialised on. */
struct phys_spec specialize_scene(const nb_scene *scene);

#endif
