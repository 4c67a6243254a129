/*
 * reasons.h - describes the decisions of compiled mode in words.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_REASONS_H
#define NB_COMPILE_REASONS_H

#include <stddef.h>

#include <nanobrag/compile.h>

#include "compile/plan.h"
#include "compile/policy.h"

/* Describe a simulator in several lines, as far as they fit into n characters: whether it
 * is compiled, its device, the last plan of each operation (hash 0: none), and its
 * counts. */
void explain_compiled(const nb_context *ctx, const struct policy *policy,
                      const char *device, const struct plan last[PLAN_OPERATIONS],
                      const nb_compile_stats *stats, char *out, size_t n);

#endif
