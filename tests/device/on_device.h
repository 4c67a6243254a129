/*
 * on_device.h - images on a CUDA device that cannot end up on the host unnoticed, and
 * checks of them whose size the caller chooses.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_ON_DEVICE_H
#define NB_TESTS_ON_DEVICE_H

#include <stddef.h>

#include <nanobrag/nanobrag.h>

static const double on_device_double = 1e-12, on_device_float = 1e-5; /* of the peak */

/* These end the program if they fail. */
nb_context *on_device_context(int device);
nb_simulator *on_device_make(nb_context *ctx, const nb_scene *scene, const char *names,
                             int precision);

/* Returns 1 where images are a device's; or skips the running case. */
int on_device_found(void);

/* Compute an image of a simulator on a device; returns 0 after a check that failed, which
 * is where the host computed it too. */
int on_device_image(nb_context *ctx, nb_simulator *sim, const double *x, double *image);
/* Do the same by a context of its own. */
int on_device_render(const nb_scene *scene, int precision, double *image);

/* n numbers that are not numbers, to be freed */
double *on_device_pixels(size_t n);
size_t on_device_size(const nb_scene *scene);

/* Check both precisions against the host by a strategy; pixels that are 0 there are 0 here.
 */
void on_device_check(const char *name, const nb_scene *scene, int strategy);

/* ---- checks of any size ---- */

/* Check images of 500 orientations and 5 sources, F of a list: nslow x nfast pixels, and
 * `side` x `side` of a costly lookup. */
void on_device_domains(int nslow, int nfast, int side);
/* Check a scene whose image takes several bands. */
void on_device_bands(const nb_scene *scene);
/* Check that a call is stopped after a band of it, and that the next one is whole. */
void on_device_cancelled(const nb_scene *scene);
/* Check that so many simulators in so many contexts give the same bits, and the memory of
 * the device back. */
void on_device_memory(const nb_scene *scene, int simulators, int contexts);

#endif
