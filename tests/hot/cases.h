/*
 * cases.h - what the cases of test_hot share: a simulator on an emulated device, whose
 * kernels nvrtc/fake.c builds.
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

void nap(int milliseconds);

/* An empty cache, and counters as at the start. */
void begin_anew(void);

/* One whose kernels are hot from so many uses on. */
nb_context *context(int threshold);

/* An image, and what the calls came to. */
nb_compile_stats take(struct subject *s);

/* With a check that all was given back. */
void close_subject(struct subject *s);

/* How many files the cache has, as soon as there are `expected`, or at the end; -1: there
 * is no folder. */
int files_after(int expected, int milliseconds);

/* ---- hot/limits.c ---- */

int limit(void);
int numbers(void);
int off(void);

/* ---- hot/shared.c ---- */

int batches(void);
int losses(void);

#endif
