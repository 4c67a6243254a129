/*
 * devices.h - simulators whose devices are watched (watched.h), and their warnings.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_DEVICES_H
#define NB_TESTS_DEVICES_H

#include <nanobrag/nanobrag.h>

#include "support/tap.h"

/* Returns 1 where the interpreter of tests/ptx is the device; or skips the running case. */
int devices_found(void);

/* Run tap_main() there, or skip all. */
int devices_main(int argc, char **argv, const struct tap_case *cases, size_t n);

/* The number of warnings so far, and the last one, in contexts made by devices_context().
 */
extern int devices_warnings;
extern char devices_warning[512];

/* Make a context with one thread; `device` is NB_DEVICE_CPU, NB_DEVICE_CUDA or
 * NB_DEVICE_AUTO. Ends the program if that fails. */
nb_context *devices_context(int device);

/* Make a simulator; ends the program if the scene is refused. */
nb_simulator *devices_make(nb_context *ctx, const nb_scene *scene, const char *names,
                           int precision);

/* Make both for a device; and free them. devices_close() then checks that everything is
 * closed and all memory was given back. */
nb_simulator *devices_open(const nb_scene *scene, const char *names, int precision,
                           nb_context **ctx);
void devices_free(nb_context *ctx, nb_simulator *sim);
void devices_close(nb_context *ctx, nb_simulator *sim);

/* Render a dense image in double. */
nb_status devices_image(nb_simulator *sim, const double *x, double *image);

/* Render a scene in a new context. */
void devices_render(const nb_scene *scene, int device, int precision, double *image);

/* Check that whatever call of the driver fails, an image is the host's, memory is given
 * back, and one warning holds the driver's words. */
void devices_any_call_fails(const nb_scene *scene);

/* Check, on a device of so many bytes, that an image is stopped after its first launch, and
 * that the next call gives the whole image. */
void devices_stopped(const nb_scene *scene, size_t memory);

/* Returns an array in memory of a simulator's device, into which n bytes were copied; and
 * copies them back, and frees it. They end the program if that fails. */
nb_array devices_array(nb_simulator *sim, nb_array array, const void *bytes, size_t n);
void devices_give_back(nb_simulator *sim, const nb_array *array, void *bytes, size_t n);

/* Returns 1 if everything that was opened is closed, and all memory is freed. */
int devices_balanced(void);

/* Returns a scene of many tiles, cut by the edges of its detector of 100 x 70 pixels. */
nb_scene devices_many_tiles(void);
enum { DEVICES_MANY = 100 * 70 };

/* Returns a scene of 40 x 37 pixels far from all spots: it shows their tails alone, so dark
 * that float loses them although it satisfies the tolerance. */
nb_scene devices_tails(void);

#endif
