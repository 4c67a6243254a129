/*
 * renders.h - images of a scene made in different ways, and how far they are apart.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_RENDERS_H
#define NB_TESTS_RENDERS_H

#include <stddef.h>

#include <nanobrag/nanobrag.h>

/* Ends the program where there is none. */
nb_context *renders_context(int threads);

/* one way to render */
struct renders_way {
    int precision, strategy;
    double tolerance;
    int threads; /* 0: 1 */
    const char *isa; /* NULL: the best there is */
};

/* Photons of a scene whose detector has its pixels counted; `about` may be NULL. 0 after a
 * check that failed. */
int renders_image(const nb_scene *scene, const struct renders_way *way, double *image,
                  nb_description *about);

/* Ends the program where the scene is refused. */
nb_description renders_describe(const nb_scene *scene, const struct renders_way *way);

/* how far an image is from the true one */
struct renders_gap {
    double peak; /* of the true image, as a modulus */
    double worst; /* pixel, over the peak; infinite where one is not a number */
    double uncorrelated; /* 1 - the coefficient of correlation */
};

struct renders_gap renders_compare(const double *image, const double *truth, size_t n);

/* Rounding in double of a long crystal, of the peak: 1e-12 or 4 eps pi max(N |h|), where
 * |h| is that of the detector's corner and at least |a|/lambda: directions are numbers of
 * size 1, however small their difference. */
double renders_allowed(const nb_scene *scene);

/* Shears the crystal of a scene with one orientation and source a little, so that the
 * centre of a pixel lies off/N beside a reflection along each axis; hkl (may be NULL): that
 * reflection. 0 where none is near. */
int renders_aim(nb_scene *scene, int slow, int fast, double off, int hkl[3]);

#endif
