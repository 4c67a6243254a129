/*
 * compiled.h - simulators compiled and not, and their results beside each other.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_COMPILED_H
#define NB_TESTS_COMPILED_H

#include <stddef.h>

#include <nanobrag/nanobrag.h>

/* pixels of the scenes of scenes.h, and numbers of a result */
enum {
    COMPILED_SLOW = 37,
    COMPILED_FAST = 40,
    COMPILED_PIXELS = COMPILED_SLOW * COMPILED_FAST,
    COMPILED_MOST = COMPILED_PIXELS + 64
};

/* The environment of the program, whatever it was: compiled mode on, no tuning results. */
void compiled_environment(void);

/* These end the program where there is none. */
nb_context *compiled_context(int compile, int threads);
nb_simulator *compiled_make(nb_context *ctx, const nb_scene *scene, const char *names,
                            int precision, int strategy);

nb_compile_stats compiled_stats(const nb_simulator *sim);

/* An image and, where parameters are free, the gradient of a sum over it, appended. Returns
 * how many numbers. */
size_t compiled_results(nb_simulator *sim, const double *x, double *out);

/* Mean difference over the mean. */
double compiled_relative(const double *a, const double *b, size_t n);

/* A crystal of one orientation, for which there are kernels of their own. */
nb_scene compiled_lone(int shape, int lookup);

/* A folder for tuning results of one case alone, and a process that knows nothing; its
 * files; and its end. */
void compiled_folder(char *path, size_t n);
int compiled_files(const char *path);
void compiled_remove_folder(const char *path);

/* A simulator whose image and gradient were measured, their results in `out`. A busy
 * machine, which tuning notices and then keeps the estimate, gets many tries. */
nb_simulator *compiled_tuned(const nb_scene *scene, const char *names, int strategy,
                             nb_context **ctx, double *out);

#endif
