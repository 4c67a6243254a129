/*
 * adjoint.h - the adjoint of a whole image: the cotangent of the frame is the sum over the
 * tiles.
 *
 * Tiles are assigned to chunks, whose number depends on the scene alone. Each chunk sums
 * its tiles in order, and the chunks are summed in order, so the result has the same bits
 * for any number of threads.
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

/* The sizes of the arrays of a cotangent of the frame. `box` is 0 when the derivatives by
 * structure factors are not computed. */
struct adjoint_sizes {
    size_t sources, orientations, box;
    size_t panels; /* 0 where the detector is one rectangle */
    size_t pixels;
    size_t samples; /* samples of a pixel times the number of sources */
    size_t threads;
};

struct adjoint_work {
    struct adjoint_sizes sizes;
    int chunks;
    struct phys_frame_tangent
        *bar; /* one per chunk; adjoint_sum_chunks() adds all to the first */
    /* (chunks x panels) cotangents of the numbers of each panel; for the panel at work they
     * are in `bar` until adjoint_leave() */
    double (*panel)[PHYS_PANEL_NUMBERS];
    double *value; /* value of the objective, one per chunk, added in the same way */
    double *peak; /* brightest pixel, one per chunk */
    double *most; /* largest cotangent of a Bragg sum, one per chunk */
    char *workspace; /* for the slopes of a tile's samples, one for each thread */
    char *scratch; /* TILE_SCRATCH bytes for each thread */
    size_t workspace_size; /* bytes of each; 0 where the slopes are too many to save */
};

/* Takes the arrays from an arena (base/arena.h). */
void adjoint_take(struct arena *arena, const struct adjoint_sizes *n,
                  struct adjoint_work *out);

/* Returns the scratch memory of the calling thread. */
void *adjoint_scratch(const struct adjoint_work *work);

/* Returns 0 where only the reference kernel supports the derivatives, because the frame
 * evaluates factors in one of nanoBragg's ways. */
int adjoint_is_plain(const struct phys_frame *frame);

/* adjoint_clear() sets the cotangent, the value and the peak of a chunk to 0.
 * adjoint_leave() moves the cotangents of a panel's numbers from `bar` to `panel`; call it
 * before the tiles of another panel. adjoint_sum_chunks() adds all chunks to the first, in
 * order. */
void adjoint_clear(const struct adjoint_work *work, int chunk);
void adjoint_leave(const struct adjoint_work *work, int chunk, int panel);
void adjoint_sum_chunks(const struct adjoint_work *work);

/* Computes the adjoint of a job without writing its photons. The cotangent of the frame is
 * left in work->bar[0], the value of the objective in work->value[0]. If there are several
 * panels, the cotangents of their numbers are left in work->panel. `spots` is as in
 * jacobian_run(). Errors: NB_ERR_CANCELLED, and NB_ERR_MEMORY with spots. */
nb_status adjoint_run(struct progress *progress, const struct kernel_set *kernels,
                      const struct job *job, const struct objective *objective,
                      struct adjoint_work *work, struct spots_work *spots);

#endif
