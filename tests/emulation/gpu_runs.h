/*
 * gpu_runs.h - jobs of a scene, and the kernels of the GPU run on one of them by the
 * emulated driver.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_GPU_RUNS_H
#define NB_TESTS_GPU_RUNS_H

#include "gpu/text/parameters.h"
#include "kernels/kernels.h"
#include "simulator.h"

/* a scene ready to be computed; its frame and its job may be changed before that */
struct gpu_case {
    nb_context *ctx;
    nb_simulator *sim;
    nb_scene scene;
    struct phys_frame frame;
    struct job job; /* of that frame */
};

/* With structure factors in float besides. Ends the program where the scene is refused. */
struct gpu_case *gpu_case_open(const nb_scene *scene);
void gpu_case_close(struct gpu_case *c);

/* Photons on the CPU, in double by the reference kernel or by lanes. 0 after a check that
 * failed. */
int gpu_case_reference(struct gpu_case *c, double *photons);
int gpu_case_lanes(struct gpu_case *c, double *photons);

/* how the kernels are run */
struct gpu_way {
    int single;
    int parts; /* 0: as float needs them */
    double cut; /* 0: pairs that add nothing are left out; below: none are; else those that
                   lie beyond so many times the cut, too many if less than 1 */
    int first_row, rows; /* of tiles; 0 rows: all */
};

/* Anchors of a tile along each axis that keep float within the job's tolerance; 0: none
 * do. */
int gpu_case_parts(const struct gpu_case *c);

/* Photons of the whole image, NaN in rows of tiles that were not asked for. 0 after a check
 * that failed. */
int gpu_case_run(struct gpu_case *c, const struct gpu_way *way, double *photons);

#endif
