/*
 * normal.h - the normal matrix J^T W J of an image, pixel by pixel: the slopes of a pixel
 * in the frame, by its adjoint, then in every parameter, by the frame's tangents.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_NORMAL_H
#define NB_KERNELS_NORMAL_H

#include "base/arena.h"
#include "base/context.h"
#include "kernels/kernels.h"
#include "physics/slope.h"

struct normal_sizes {
    size_t dense; /* parameters that are no structure factors */
    size_t f; /* and those that are */
    size_t sources, orientations, box; /* of a cotangent; box 0: nobody asks for F */
};

/* sums; those of F only where they are asked for */
struct normal_sums {
    double *matrix; /* (dense x dense) */
    double *gradient; /* (dense) */
    double *f_diagonal, *f_gradient; /* (f) */
    double *coupling; /* (dense x f) */
    double value;
};

/* one pixel's slopes, and the sums of a chunk */
struct normal_chunk {
    struct phys_slope bar;
    struct phys_touched touched;
    double *slope; /* (dense) */
    double *f_slope; /* (f) */
    int *f_used; /* (box) which of them, some perhaps twice */
    struct normal_sums sums;
};

struct normal_work {
    struct normal_sizes sizes;
    int chunks;
    struct normal_chunk *chunk; /* the first ends as the sum of all */
    struct phys_slope *tangent; /* (dense), made by the caller: their boxes are not read */
    int *owner; /* (box) of a place: its structure factor, or NORMAL_DEFAULT, or
                   NORMAL_NOBODY */
    int default_f; /* the dense parameter whose places NORMAL_DEFAULT marks; or -1 */
};

enum { NORMAL_NOBODY = -1, NORMAL_DEFAULT = -2 };

/* Memory for it, counted and then taken in the same order; 0 when it overflows. */
int normal_reserve(struct arena *arena, const struct normal_sizes *n);
void normal_take(struct arena *arena, const struct normal_sizes *n,
                 struct normal_work *out);

/* Run a job; job->photons: NULL. The sums end in work->chunk[0].sums. */
nb_status normal_run(nb_context *ctx, const struct kernel_set *kernels,
                     const struct job *job, const struct pull *pull,
                     struct normal_work *work);

#endif
