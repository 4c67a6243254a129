/*
 * adjoint.h - the adjoint of a whole image: the cotangent of the frame as a sum over the
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

/* The sizes of the arrays of a cotangent of the frame. `box` is the number of structure
 * factors, or 0 if derivatives by them are not computed. */
struct adjoint_sizes {
    size_t sources, orientations, box;
    size_t panels; /* number of panels; 0 if the detector is one rectangle */
    size_t pixels;
    size_t samples; /* samples of a pixel under all sources, in one orientation */
    size_t threads;
};

struct adjoint_work {
    struct adjoint_sizes sizes;
    int chunks;
    /* one per chunk; adjoint_sum_chunks() adds all to the first */
    struct phys_frame_tangent *bar;
    /* (chunks x panels) cotangents of the numbers of each panel; for the current panel of a
     * chunk they are in `bar` until adjoint_leave() moves them here */
    double (*panel)[PHYS_PANEL_NUMBERS];
    double *value; /* value of the objective, one per chunk; adjoint_sum_chunks() adds all
                      to the first */
    double *peak; /* brightest pixel, photons, one per chunk */
    double *most; /* largest cotangent of a Bragg sum, one per chunk */
    /* workspace_size bytes per thread for the slopes of a tile's samples */
    char *workspace;
    char *scratch; /* TILE_SCRATCH bytes per thread */
    size_t workspace_size; /* bytes; 0 if the slopes are too many to save */
};

/* Takes the arrays from an arena (base/arena.h). */
void adjoint_take(struct arena *arena, const struct adjoint_sizes *n,
                  struct adjoint_work *out);

/* Returns the TILE_SCRATCH bytes of the calling thread. */
void *adjoint_scratch(const struct adjoint_work *work);

/* Returns 0 if only the reference kernel supports the derivatives, because the frame asks
 * for one of nanoBragg's options. */
int adjoint_is_plain(const struct phys_frame *frame);

/* adjoint_clear() sets the cotangent, the value and the peak of a chunk to 0.
 * adjoint_leave() moves the cotangents of a panel's numbers from `bar` to `panel`; call it
 * before the chunk goes on to another panel. adjoint_sum_chunks() adds all chunks to the
 * first, in order. */
void adjoint_clear(const struct adjoint_work *work, int chunk);
void adjoint_leave(const struct adjoint_work *work, int chunk, int panel);
void adjoint_sum_chunks(const struct adjoint_work *work);

/* Computes the adjoint of a job without writing its photons. work->bar[0] becomes the
 * cotangent of the frame and work->value[0] the value of the objective. If there are
 * several panels, work->panel gets the cotangents of their numbers. `spots` is a workspace
 * to find the pairs of source and orientation that reach each tile; NULL: every pair is
 * visited. Errors: NB_ERR_CANCELLED, and NB_ERR_MEMORY with spots. */
nb_status adjoint_run(struct progress *progress, const struct kernel_set *kernels,
                      const struct job *job, const struct objective *objective,
                      struct adjoint_work *work, struct spots_work *spots);

#endif
