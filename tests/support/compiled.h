/*
 * compiled.h - makes compiled and uncompiled simulators, and compares their results.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_COMPILED_H
#define NB_TESTS_COMPILED_H

#include <stddef.h>

#include <nanobrag/nanobrag.h>

/* The pixels of the scenes of scenes.h, and the numbers of a result. */
enum {
    COMPILED_SLOW = 37,
    COMPILED_FAST = 40,
    COMPILED_PIXELS = COMPILED_SLOW * COMPILED_FAST,
    COMPILED_MOST = COMPILED_PIXELS + 64
};

/* Set the environment of the program: compiled mode is on, and nothing is kept. */
void compiled_environment(void);

/* The same for tests on a device, whose kernels built at run time are kept: where
 * NANOBRAG_CACHE_DIR says, else in the folder `cache` of the current one. */
void compiled_device_environment(void);

/* These make a context or a simulator, and end the program if they cannot. */
nb_context *compiled_context(int compile, int threads);
nb_simulator *compiled_make(nb_context *ctx, const nb_scene *scene, const char *names,
                            int precision, int strategy);

nb_compile_stats compiled_stats(const nb_simulator *sim);

/* Write an image to `out` and, where parameters are free, after it the gradient of a
 * weighted sum over the image. Returns how many numbers these are. */
size_t compiled_results(nb_simulator *sim, const double *x, double *out);

/* Returns the mean difference over the mean. */
double compiled_relative(const double *a, const double *b, size_t n);

/* Returns a scene with a crystal of one orientation, for which there are special kernels.
 */
nb_scene compiled_lone(int shape, int lookup);

/* Make a cache folder of one case; count its files; remove it. */
void compiled_folder(char *path, size_t n);
int compiled_files(const char *path);
void compiled_remove_folder(const char *path);

#endif
