/*
 * normal.h - the normal matrix J^T W J of an image, summed from its Jacobian
 * tile by tile.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_DERIVATIVES_NORMAL_H
#define NB_KERNELS_DERIVATIVES_NORMAL_H

#include "kernels/planes/planes.h"

/* The sums of a chunk. The last three exist only when structure factors are free. */
struct normal_sums {
    double *matrix; /* (dense x dense), J^T W J */
    double *gradient; /* (dense), dL/dparameter */
    double *f_diagonal, *f_gradient; /* (f), for the structure factors */
    double *coupling; /* (dense x f) block of the matrix */
    double value;
};

struct normal_work {
    struct jacobian_work jacobian; /* one tangent for each dense parameter */
    int chunks;
    int *moving; /* (chunks x at_once) the tangents along which the current tile changes */
    struct normal_sums *sums; /* one per chunk; normal_sum_chunks() adds all to the first */
};

/* Takes the arrays from an arena (base/arena.h). */
void normal_take(struct arena *arena, const struct jacobian_sizes *n,
                 struct normal_work *out);

/* One normal matrix: the weights of the pixels come from `objective`, and the sums go to
 * `work`.
 */
struct normal_run {
    const struct objective *objective;
    const struct normal_work *work;
    const struct planes
        *planes; /* to be eliminated (kernels/planes/planes.h); NULL: none */
    int coupling; /* 1: the coupling block is computed too, which costs the most */
};

/* normal_reader() returns a reader that adds the Jacobian of each tile to the sums of its
 * chunk. Once all tiles were read, normal_sum_chunks() adds the sums of all chunks to
 * work->sums[0], eliminates planes and completes the symmetric matrix. It returns 0 if
 * there was no memory for the planes. */
struct jacobian_reader normal_reader(const struct normal_run *run);
int normal_sum_chunks(const struct normal_run *run);

#endif
