/*
 * jacobian_runs.h - the kernels of derivatives (jacobian_kernels.h) run on the tangents of
 * a scene's parameters, and what the kernels of the CPU say of the same.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_ROWS_RUNS_H
#define NB_TESTS_ROWS_RUNS_H

#include <nanobrag/nanobrag.h>

#include "emulation/rows_kernels.h"
#include "kernels/kernels.h"

/* a scene, its frame and the tangents of all its parameters but structure factors; those
 * that turn orientations first */
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
    double *photons, *change; /* by lanes in double: (pixels), (n x pixels); 0 where
                                 nothing is rendered */
    double peak;
};

/* A scene of scenes_list. */
nb_scene jacobian_scene(const char *name);

/* `lanes` 0: the truth is that of the reference kernel. Ends the program where the scene is
 * refused. */
void device_run_make(const nb_scene *scene, int lanes, struct device_run *t);
void device_run_drop(struct device_run *t);

/* how the kernels are run */
struct jacobian_way {
    const struct jacobian_kernels *kernels;
    enum jacobian_class kind;
    int parts; /* anchors of a tile along each axis */
    int first, n; /* tangents */
    int reversed; /* 1: the last block first */
    int strips; /* launches that share the rows of tiles; 0: 1 */
};

/* The tangents that a kernel takes next, from number way->first on: way->n, which is 0
 * after the last. */
int jacobian_next(const struct device_run *t, struct jacobian_way *way);

/* parameters of a run over the whole detector, without an end */
struct gpu_derivatives_parameters jacobian_parameters(const struct device_run *t,
                                                      const struct jacobian_way *way);

/* photons and changes of the way's tangents */
void jacobian_changes(const struct device_run *t, const struct jacobian_way *way,
                      double *photons, double *change);

/* Sums of all tiles, by p->end: out[] are value and gradient (1 + n), or the numbers of a
 * normal matrix. */
void jacobian_totals(const struct device_run *t, const struct jacobian_way *way,
                     struct gpu_derivatives_parameters *p, double *out);

/* Cotangents of the structure factors (box and its default) from those of the photons. */
void jacobian_f(const struct device_run *t, const struct jacobian_way *way,
                const double *bar, double *f_bar);

/* and by the lanes of the CPU in double */
void jacobian_f_truth(const struct device_run *t, const double *bar, double *f_bar);

/* places of the box, with that of the default */
size_t jacobian_places(const struct device_run *t);

#endif
