/*
 * tile_rows.h - launches one after the other, each for a strip of rows of tiles, and the
 * sum over all tiles, which the launches of the last strip compute.
 *
 * The tiles are summed by a tree of fixed shape, so that the bits of a sum depend neither
 * on the strips nor on the order of blocks.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_LAUNCH_TILE_ROWS_H
#define NB_GPU_LAUNCH_TILE_ROWS_H

#include "gpu/gpu.h"
#include "gpu/text/derivatives/derivatives_parameters.h"

/* ---- strips ---- */

struct gpu_strip {
    int first, down; /* first row of tiles in the layout, and number of rows */
    int slow, rows; /* the same rows in pixels */
    int tiles; /* number of tiles */
    int is_last;
};

/* gpu_strips_of() returns the number of strips of a layout, gpu_strip_at() strip i of an
 * image of `nslow` rows. */
int gpu_strips_of(const struct gpu_layout *layout);
struct gpu_strip gpu_strip_at(const struct gpu_layout *layout, int nslow, int i);

/* Call `run` for launch 0 .. n - 1 in order, until the call is stopped, and count each
 * launch as a step of the progress. Errors: any error of `run`, and NB_ERR_CANCELLED. */
nb_status gpu_run_launches(struct progress *progress, const struct gpu *gpu, int n,
                           nb_status (*run)(void *user, int i), void *user);

/* Send parameters to the device and launch a sequence that reads them. */
nb_status gpu_run_with(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                       const struct gpu_sequence *sequence, const void *parameters,
                       size_t bytes);

/* Download the rows of pixels of a strip; `from` is the address of its first row. */
nb_status gpu_fetch_strip(nb_context *ctx, const struct gpu_scene *scene,
                          const struct job *job, const struct gpu_strip *strip,
                          gpu_address from, double *to);

/* ---- the sum over all tiles ---- */

enum { SUM_LEVELS = 6 }; /* SUM_FAN^6 exceeds any number of tiles */

/* The launches of the tree; they are part of the parameters that are sent. The first level
 * reads the totals of the tiles, each further level the sums of the level before. The last
 * level writes the sum. */
struct gpu_sums {
    int levels;
    struct gpu_sum_parameters level[SUM_LEVELS];
};

/* Plan the sum of the totals of all tiles, `length` numbers each. Reserve memory for the
 * totals, for the sums of each level, and for `extra` numbers behind the last sum. */
nb_status gpu_plan_sums(nb_context *ctx, struct gpu_scene *scene,
                        const struct gpu_layout *layout, int length, int extra,
                        struct gpu_sums *out);

/* Returns the address on the device of the totals of a strip's first tile. */
double *gpu_totals_of(const struct gpu_scene *scene, const struct gpu_sums *sums,
                      const struct gpu_layout *layout, const struct gpu_strip *strip);

/* Returns the address of the sum on the device. */
gpu_address gpu_sum_of(const struct gpu_sums *sums);

/* Append the launches of the tree to a sequence. `sums` begins `offset` bytes behind the
 * start of the parameters. */
void gpu_add_sums(const struct gpu_sums *sums, int single, size_t offset,
                  struct gpu_sequence *sequence);

#endif
