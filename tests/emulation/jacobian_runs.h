/*
 * jacobian_runs.h - a scene with the tangents of its parameters, and its derivatives by the
 * kernels of the CPU.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_JACOBIAN_RUNS_H
#define NB_TESTS_JACOBIAN_RUNS_H

#include <nanobrag/nanobrag.h>

#include "emulation/jacobian_kernels.h"
#include "kernels/kernels.h"

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
    char (*name)[64];
    double *unit; /* (n) 1 over the scale of the parameter */
    size_t pixels;
    /* by lanes in double: (pixels), (n x pixels); 0 where nothing is rendered */
    double *photons, *change;
    double peak;
};

/* Make a run. The truth is that of lanes or, if `lanes` is 0, of the reference kernel. Ends
 * the program if the scene is refused. */
void device_run_make(const nb_scene *scene, int lanes, struct device_run *t);
void device_run_drop(struct device_run *t);

/* Write the cotangents of the structure factors (the box and its default) for those of the
 * photons, by the lanes of the CPU in double. */
void jacobian_f_truth(const struct device_run *t, const double *bar, double *f_bar);

/* Returns the number of places of the box, with that of the default. */
size_t jacobian_places(const struct device_run *t);

#endif
