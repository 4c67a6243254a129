/*
 * harness.h - nb_gradcheck() on the scenes of the tests, and the report of what it found.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_HARNESS_H
#define NB_TESTS_HARNESS_H

#include <nanobrag/nanobrag.h>

#include "gradients/modes.h"

/* a context of one thread, uncompiled whatever the environment says */
nb_context *harness_context(void);

/* Names of all parameters that apply to a scene, blanks between; of a list of reflections
 * the three that the image depends on most. Freed by the caller. */
char *harness_names(nb_context *ctx, const nb_scene *scene);

/* Check all parameters of a scene in the strategies named by bits 1 <<
 * NB_STRATEGY_REFERENCE etc.; ndirection 0: each by itself. */
enum {
    HARNESS_REFERENCE = 1 << NB_STRATEGY_REFERENCE,
    HARNESS_LANES = 1 << NB_STRATEGY_LANES,
    HARNESS_SPOTS = 1 << NB_STRATEGY_SPOTS,
    HARNESS_ALL = HARNESS_REFERENCE | HARNESS_LANES | HARNESS_SPOTS
};
void harness_check(const char *name, const nb_scene *scene, int strategies, int ndirection);

/* ---- report.c ---- */

/* states of a parameter in a scene */
enum { REPORT_CHECKED, REPORT_ZERO, REPORT_NOT_APPLICABLE, REPORT_MISSING };

void report_row(const char *scene, const char *strategy, uint64_t seed,
                const nb_gradcheck_row *row);
void report_state(const char *scene, const char *parameter, int state, const char *reason);

/* State of a parameter in a scene, REPORT_MISSING when nothing was said of it. */
int report_find(const char *scene, const char *parameter);

/* Median and 99th percentile of |derivative - finite difference| over S, of all rows. */
void report_errors(size_t *count, double *median, double *high);

/* All that was said, as JSON (docs/development/gradients.md). Returns 0 on failure. */
int report_write(const char *path);

#endif
