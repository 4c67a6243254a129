/*
 * hot_cases.h - what the cases of test_hot share: a simulator on a watched device.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_HOT_CASES_H
#define NB_TESTS_HOT_CASES_H

#include <nanobrag/nanobrag.h>

#include "support/compiled.h"

enum { PIXELS = COMPILED_PIXELS };

struct subject {
    nb_context *ctx;
    nb_simulator *sim;
    double image[PIXELS];
};

/* ---- test_hot.c ---- */

/* An empty cache, and counters as at the start. */
void begin_anew(void);

/* One whose kernels are hot from so many uses on. */
nb_context *context(int threshold);

/* An image, and what the calls came to. */
nb_compile_stats take(struct subject *s);

/* With a check that all was given back. */
void close_subject(struct subject *s);

/* Until no kernel is being built in the background, 100 s at most. */
void wait_for_build(const nb_context *in);

/* How many files the cache has. */
int files_kept(void);

/* ---- compile/jit/hot_limits.c ---- */

int limit(void);
int numbers(void);
int off(void);

/* ---- compile/jit/hot_shared.c ---- */

int batches(void);
int losses(void);

#endif
