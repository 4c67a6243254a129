/*
 * renders.h - renders images of a scene in different ways, and compares them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_RENDERS_H
#define NB_TESTS_RENDERS_H

#include <stddef.h>

#include <nanobrag/nanobrag.h>

/* Make a context; ends the program if that fails. */
nb_context *renders_context(int threads);

/* End the program after a failed check unless a call was right. */
void renders_require(const nb_context *ctx, nb_status status);

/* Make a simulator, and one image at the values of its scene, in which every pixel that is
 * not written is NaN; they end the program if that fails. */
nb_simulator *renders_simulator(nb_context *ctx, const nb_scene *scene, const char *names,
                                const nb_options *options);
void renders_forward(nb_context *ctx, nb_simulator *sim, int nslow, int nfast,
                     double *image);

/* One way to render a scene. */
struct renders_way {
    int precision, strategy;
    double tolerance;
    int threads; /* number of threads; 0: 1 */
    const char *isa; /* instruction set; NULL: the best of the machine */
};

/* Render a scene whose detector gives its numbers of pixels; `about` may be NULL. Returns 0
 * after a failed check. */
int renders_image(const nb_scene *scene, const struct renders_way *way, double *image,
                  nb_description *about);

/* Describe a scene; ends the program if it is refused. */
nb_description renders_describe(const nb_scene *scene, const struct renders_way *way);

/* The difference of an image from the true one. */
struct renders_gap {
    double peak; /* largest modulus of the true image */
    /* largest difference of a pixel, over the peak; infinite if a pixel is not a number */
    double worst;
    double uncorrelated; /* 1 - the correlation coefficient */
};

struct renders_gap renders_compare(const double *image, const double *truth, size_t n);

/* Returns pi max(N |h|), the largest phase of the crystal's interference, which is rounded
 * like a number of its size. |h| is that of the detector's corner and at least |a|/lambda,
 * since directions are numbers of size 1, however small their difference. */
double renders_phase(const nb_scene *scene);

/* Returns the rounding in double of an image, as a fraction of the peak: 64 eps for its
 * factors and the sum of samples, and 4 eps times the phase. Lanes stay below an eighth. */
double renders_allowed(const nb_scene *scene);

/* Shear the crystal of a scene with one orientation and one source a little, so that the
 * centre of a pixel is off/N from a reflection along each axis. `hkl`, which may be NULL,
 * becomes that reflection. Returns 0 if none is near. */
int renders_aim(nb_scene *scene, int slow, int fast, double off, int hkl[3]);

#endif
