/*
 * jacobian.h - the Jacobian of an image, tile by tile: each is handed to a reader as soon
 * as its rows are known, and none is kept.
 *
 * Tiles are dealt out to a number of chunks that the reader decides; a chunk is one
 * thread's at a time, and its tiles come in order. What a reader adds up by chunks has the
 * same bits for any number of threads.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_DERIVATIVES_JACOBIAN_H
#define NB_KERNELS_DERIVATIVES_JACOBIAN_H

#include "base/arena.h"
#include "base/context.h"
#include "kernels/kernels.h"
#include "kernels/spots/spots.h"

struct jacobian_sizes {
    size_t tangents; /* at most */
    size_t f; /* structure factors that are free */
    size_t sources, orientations, box; /* of a cotangent; box 0: nobody asks for F */
    size_t by_pixel; /* the box again where the reference kernel may run; else 0 */
    size_t threads;
};

/* what a thread works in */
struct jacobian_workspace {
    void *lists; /* jacobian_workspace_size() */
    double *change; /* (tangents x TILE_PIXELS) */
    struct columns columns;
};

struct jacobian_work {
    struct jacobian_sizes sizes;
    struct phys_frame_tangent *dot; /* (tangents), made by the caller, lists and all */
    unsigned char *turns;
    int *owner; /* (box) of a place, filled in by the caller: its structure factor, `f` for
                   the places of default_f, or -1 */
    struct jacobian_workspace *workspace; /* (threads) */
};

/* Memory for it, counted and then taken in the same order; 0 when it overflows. */
int jacobian_reserve(struct arena *arena, const struct jacobian_sizes *n);
void jacobian_take(struct arena *arena, const struct jacobian_sizes *n,
                   struct jacobian_work *out);

/* rows of a tile, or of a part of one */
struct jacobian_tile {
    struct tile tile;
    const double *photons; /* of its pixels */
    const double *change; /* of pixel i along tangent d: change[d TILE_PIXELS + i] */
    const struct columns *columns; /* slopes in structure factors; NULL: nobody asks. The
                                      column of default_f is among them, and in `change` */
};

struct jacobian_reader {
    int chunks; /* at most JACOBIAN_CHUNKS, each one thread's; 0: each tile is one */
    void (*start)(const void *user, int chunk); /* before its first tile; perhaps again */
    void (*tile)(const void *user, int chunk, const struct job *job,
                 const struct adjoint_kernels *adjoint_kernels,
                 const struct jacobian_tile *rows);
    const void *user;
};

enum { JACOBIAN_CHUNKS = 64 };

/* Run a job (no photons are written) along the first n tangents. `spots`: work memory to
 * find the pairs that reach a tile, so that others are passed over; NULL: all are visited.
 * Errors: NB_ERR_CANCELLED, with spots NB_ERR_MEMORY. */
nb_status jacobian_run(struct progress *progress, const struct kernel_set *kernels,
                       const struct job *job, int n, const struct jacobian_work *work,
                       const struct jacobian_reader *reader, struct spots_work *spots);

#endif
