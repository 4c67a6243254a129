/*
 * kernels.h - the table that a backend fills, and how a job is run on one.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_KERNELS_H
#define NB_KERNELS_KERNELS_H

#include "base/context.h"
#include "kernels/job.h"

/* photons of the TILE_PIXELS pixels of a tile, fast axis innermost */
typedef void tile_forward(const struct phys_frame *frame, const struct tile *tile,
                          double *photons);

struct kernels {
    const char *name; /* of the instruction set, or "reference" */
    tile_forward *forward[PHYS_SHAPES][PHYS_LOOKUPS];
};

extern const struct kernels kernels_reference;

/* Best lanes this machine can run; `isa` (may be "") names one. NULL when the build or the
 * machine lacks the one that was named. */
const struct kernels *kernels_lanes(const char *isa);

/* Names of the lanes this machine can run, for messages: "v2 v3". */
const char *kernels_lanes_names(void);

/* Run a job tile by tile on the threads of the context. The same bits for any number of
 * threads. NB_ERR_CANCELLED when the context's progress handler asks to stop. */
nb_status tiles_forward(nb_context *ctx, const struct kernels *kernels,
                        const struct job *job);

#endif
