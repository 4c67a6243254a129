/*
 * devices.h - simulators whose devices are emulated (emulated.h), and what they warn of.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_DEVICES_H
#define NB_TESTS_DEVICES_H

#include <nanobrag/nanobrag.h>

/* so many so far, and the last of them, in contexts made here */
extern int devices_warnings;
extern char devices_warning[512];

/* A context with one thread, NB_CPU, NB_CUDA or NB_DEVICE_AUTO; ends the program where
 * there is none. */
nb_context *devices_context(int device);

/* Ends the program where the scene is refused. */
nb_simulator *devices_make(nb_context *ctx, const nb_scene *scene, const char *names,
                           int precision);

/* Photons in double, dense. */
nb_status devices_image(nb_simulator *sim, const double *x, double *image);

/* The same of a scene, in a context of its own. */
void devices_render(const nb_scene *scene, int device, int precision, double *image);

/* 1 when all that was opened is closed, and all memory given back. */
int devices_balanced(void);

/* A scene of many tiles, cut by the edges of its detector: 100 x 70 pixels. */
nb_scene devices_many_tiles(void);
enum { DEVICES_MANY = 100 * 70 };

/* A small detector far between spots: tails alone, so dark that float loses them although
 * it keeps to the tolerance; 40 x 37 pixels. */
nb_scene devices_tails(void);

#endif
