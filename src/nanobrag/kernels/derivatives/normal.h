/*
 * normal.h - the normal matrix J^T W J of an image, added up from the rows of its Jacobian
 * as these become known.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_DERIVATIVES_NORMAL_H
#define NB_KERNELS_DERIVATIVES_NORMAL_H

#include "kernels/derivatives/jacobian.h"

/* sums; those of F only where they are asked for */
struct normal_sums {
    double *matrix; /* (dense x dense) */
    double *gradient; /* (dense) */
    double *f_diagonal, *f_gradient; /* (f) */
    double *coupling; /* (dense x f) */
    double value;
};

struct normal_work {
    struct jacobian_work jacobian; /* a tangent for each dense parameter */
    int chunks;
    struct normal_sums *sums; /* of each chunk; the first ends as the sum of all */
};

/* Memory for it, counted and then taken in the same order; 0 when it overflows. */
int normal_reserve(struct arena *arena, const struct jacobian_sizes *n);
void normal_take(struct arena *arena, const struct jacobian_sizes *n,
                 struct normal_work *out);

/* What `pull` weighs the pixels with, added up in `work`. */
struct normal_run {
    const struct objective *objective;
    const struct normal_work *work;
    int coupling; /* 1: somebody asks for that block, the dearest */
};

/* A reader of the rows of a job, and what is left to do when all were read: the sums of all
 * chunks end in work->sums[0]. */
struct jacobian_reader normal_reader(const struct normal_run *run);
void normal_fold(const struct normal_work *work);

#endif
