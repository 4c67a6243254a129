/*
 * adjoint.h - the adjoint of a whole image: tiles hand their cotangents to the frame.
 *
 * Tiles are dealt out to a number of chunks that the scene alone decides; each chunk sums
 * its tiles in order, and the chunks are summed in order: the same bits for any number of
 * threads.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_DERIVATIVES_ADJOINT_H
#define NB_KERNELS_DERIVATIVES_ADJOINT_H

#include "base/arena.h"
#include "base/context.h"
#include "kernels/kernels.h"
#include "kernels/spots/spots.h"
#include "physics/frame_tangent.h"

/* sizes of the arrays of a cotangent; box: 0 when nobody asks for structure factors */
struct adjoint_sizes {
    size_t sources, orientations, box;
    size_t pixels;
    size_t samples; /* of a pixel, times its sources */
    size_t threads;
};

struct adjoint_work {
    struct adjoint_sizes sizes;
    int chunks;
    struct phys_frame_tangent *bar; /* one per chunk; the first ends as the sum of all */
    double *value; /* the same of what the pull returned */
    double *peak; /* brightest pixel of a chunk */
    char *workspace; /* for the slopes of a tile's samples, one for each thread */
    size_t room_size; /* bytes of each; 0 where they would be too many to keep */
};

/* Memory for it, counted and then taken in the same order; 0 when it overflows. */
int adjoint_reserve(struct arena *arena, const struct adjoint_sizes *n);
void adjoint_take(struct arena *arena, const struct adjoint_sizes *n,
                  struct adjoint_work *out);

/* 0 where nanoBragg's ways of taking factors ask for derivatives by the reference kernel.
 */
int adjoint_is_plain(const struct phys_frame *frame);

/* A chunk before its first cotangent; all of them summed in order into the first. */
void adjoint_blank(const struct adjoint_work *work, int chunk);
void adjoint_fold(const struct adjoint_work *work);

/* Run a job (no photons are written) and leave the cotangent of its frame in work->bar[0],
 * what the pull adds up to in work->value[0]. `spots`: as in jacobian_run(). */
nb_status adjoint_run(struct progress *progress, const struct kernel_set *kernels,
                      const struct job *job, const struct objective *objective,
                      struct adjoint_work *work, struct spots_work *spots);

#endif
