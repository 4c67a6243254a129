/*
 * gpu_runs.h - a scene's job, and runs of the GPU's kernels on it by the emulated driver.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_GPU_RUNS_H
#define NB_TESTS_GPU_RUNS_H

#include "gpu/text/derivatives/derivatives_parameters.h"
#include "kernels/kernels.h"
#include "simulator.h"

/* A scene that is ready to be computed; its frame and its job may be changed before. */
struct gpu_case {
    nb_context *ctx;
    nb_simulator *sim;
    nb_scene scene;
    struct phys_frame frame;
    struct job job; /* of that frame */
};

/* Make a case, with structure factors in float too. Ends the program if the scene is
 * refused. */
struct gpu_case *gpu_case_open(const nb_scene *scene);
void gpu_case_close(struct gpu_case *c);

/* Render on the CPU in double, by the reference kernel or by lanes. Returns 0 after a
 * failed check. */
int gpu_case_reference(struct gpu_case *c, double *photons);
int gpu_case_lanes(struct gpu_case *c, double *photons);

/* How the kernels are run. */
struct gpu_way {
    int single;
    int parts; /* anchors of a tile along each axis; 0: as many as float needs */
    /* 0: pairs that add nothing are left out; negative: none are; positive: those beyond
     * this multiple of the cutoff, too many if it is less than 1 */
    double cut;
    int first_row, rows; /* rows of tiles; 0 rows: all */
};

/* Returns the number of anchors of a tile along each axis that keep float within the job's
 * tolerance, or 0 if none does. */
int gpu_case_parts(const struct gpu_case *c);

/* Render the whole image, NaN in rows of tiles that were not asked for. Returns 0 after a
 * failed check. */
int gpu_case_run(struct gpu_case *c, const struct gpu_way *way, double *photons);

/* Write the value of a loss over the image, and the photons of its brightest pixel. The
 * target's arrays are read where they are. Returns 0 after a failed check. */
int gpu_case_loss(struct gpu_case *c, const struct gpu_way *way,
                  const struct gpu_target *target, double *value, double *brightest);

#endif
