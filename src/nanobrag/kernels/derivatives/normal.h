/*
 * normal.h - the normal matrix J^T W J of an image, summed from its Jacobian
 * tile by tile.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_DERIVATIVES_NORMAL_H
#define NB_KERNELS_DERIVATIVES_NORMAL_H

#include "kernels/planes/planes.h"

/* The sums of a chunk. The members with (f) exist only if structure factors are free. */
struct normal_sums {
    /* (dense x dense), J^T W J by the parameters except structure factors */
    double *matrix;
    double *gradient; /* (dense), dL/dparameter */
    double *f_diagonal, *f_gradient; /* (f), diagonal and gradient by structure factors */
    double *coupling; /* (dense x f) block of the matrix that couples parameters and
                         structure factors */
    double value; /* L */
};

struct normal_work {
    struct jacobian_work jacobian; /* one tangent for each dense parameter */
    int chunks;
    int *moving; /* (chunks x at_once) workspace for struct gram */
    struct normal_sums *sums; /* one per chunk; normal_sum_chunks() adds all to the first */
};

/* Takes the arrays from an arena (base/arena.h). */
void normal_take(struct arena *arena, const struct jacobian_sizes *n,
                 struct normal_work *out);

/* The arguments of one normal matrix: `objective` gives the weights of the pixels, and
 * `work` receives the sums. */
struct normal_run {
    const struct objective *objective;
    const struct normal_work *work;
    /* background to eliminate (kernels/planes/planes.h); NULL: none */
    const struct planes *planes;
    int coupling; /* 1: the coupling block is computed too, the most expensive part */
};

/* normal_reader() returns a reader that adds the Jacobian of each tile to the sums of its
 * chunk. After the last tile, normal_sum_chunks() adds the sums of all chunks to
 * work->sums[0], eliminates planes and completes the symmetric matrix. normal_sum_chunks()
 * returns 0 if there was no memory for the planes. */
struct jacobian_reader normal_reader(const struct normal_run *run);
int normal_sum_chunks(const struct normal_run *run);

#endif
