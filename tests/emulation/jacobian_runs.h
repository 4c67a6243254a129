/*
 * jacobian_runs.h - runs of the kernels of derivatives (jacobian_kernels.h) on the tangents
 * of a scene's parameters, and the same by the kernels of the CPU.
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

/* How the kernels are run. */
struct jacobian_way {
    const struct jacobian_kernels *kernels;
    enum jacobian_class kind;
    int parts; /* anchors of a tile along each axis */
    int first, n; /* tangents */
    int reversed; /* 1: the last block first */
    int strips; /* the number of launches that share the rows of tiles; 0: 1 */
};

/* Set way->n to the number of tangents, from way->first on, that a kernel takes next, and
 * return it; it is 0 after the last. */
int jacobian_next(const struct device_run *t, struct jacobian_way *way);

/* Returns the parameters of a run over the whole detector, without sums over it. */
struct gpu_derivatives_parameters jacobian_parameters(const struct device_run *t,
                                                      const struct jacobian_way *way);

/* Write the photons, and their derivatives along the tangents of `way`. */
void jacobian_changes(const struct device_run *t, const struct jacobian_way *way,
                      double *photons, double *change);

/* Write the sums over all tiles, as p->end asks for: value and gradient (1 + n), or the
 * numbers of a normal matrix. */
void jacobian_totals(const struct device_run *t, const struct jacobian_way *way,
                     struct gpu_derivatives_parameters *p, double *out);

/* Write the cotangents of the structure factors (the box and its default) for those of the
 * photons. */
void jacobian_f(const struct device_run *t, const struct jacobian_way *way,
                const double *bar, double *f_bar);

/* Write the same by the lanes of the CPU in double. */
void jacobian_f_truth(const struct device_run *t, const double *bar, double *f_bar);

/* Returns the number of places of the box, with that of the default. */
size_t jacobian_places(const struct device_run *t);

#endif
