/*
 * experiments.h - small files of experiments for tests, copies of them in which one part is
 * another, and checks of what is read. SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_EXPERIMENTS_H
#define NB_TESTS_EXPERIMENTS_H

#include <nanobrag/experiment.h>

/* A tolerance is 3 to 20 times the rounding: of vectors of length 1, and of mm or A. */
#define EXPERIMENT_UNIT   2e-15
#define EXPERIMENT_LENGTH 1e-13

#define VECTOR(...) ((const double[3]){__VA_ARGS__})

/* An .expt of one experiment whose panel is in no group, and an XPARM.XDS. */
extern const char expt_text[], xparm_text[];

/* An .expt of one experiment with two panels, of which one is in a group. */
extern const char expt_panels_text[];

/* An .expt of two crystals of one image, which change during its scan, and of a third that
 * has another beam. */
extern const char expt_split_text[];

/* Returns a copy of a text with the first `old` replaced, to be released with free(). Ends
 * the program if there is none. */
char *text_with(const char *text, const char *old, const char *changed);

/* Reads an experiment of a file without its counts, so that one rectangle has nothing to
 * free. */
nb_status read_uncounted(nb_context *ctx, const char *path, int i, nb_experiment *out);

/* Returns 1 if the library has a feature. */
int has_feature(const char *feature);

/* A check: three numbers are the expected ones. */
void same_vector(const char *what, const double *found, const double *expected,
                 double allowed);

/* Checks: the real-space axes of an experiment, from its matrix, are a, b and c. */
void same_crystal(const nb_experiment *e, const double *a, const double *b,
                  const double *c);

#endif
