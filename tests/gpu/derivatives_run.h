/*
 * derivatives_run.h - a scene with the tangents of its parameters.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_DERIVATIVES_RUN_H
#define NB_TESTS_DERIVATIVES_RUN_H

#include <nanobrag/nanobrag.h>

#include "kernels/job.h"

/* A scene, its frame and its tangents along all parameters but structure factors; those
 * that rotate orientations come first. */
struct device_run {
    nb_context *ctx;
    struct nb_simulator *sim;
    nb_scene scene;
    struct phys_frame frame;
    float *f_single;
    struct job job;
    int n, turning;
    struct phys_frame_tangent *dot; /* (n) */
    size_t pixels;
};

/* Make a run. Ends the program if the scene is refused. */
void device_run_make(const nb_scene *scene, struct device_run *t);
void device_run_drop(struct device_run *t);

/* Returns the number of places of the box, with that of the default. */
size_t jacobian_places(const struct device_run *t);

#endif
