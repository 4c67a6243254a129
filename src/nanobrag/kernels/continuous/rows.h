/*
 * rows.h - the Jacobian of a tile of a continuous crystal's image, from its spots.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_ROWS_H
#define NB_KERNELS_CONTINUOUS_ROWS_H

#include "kernels/continuous/continuous.h"
#include "kernels/derivatives/tile_jacobian.h"

/* The changes of all spots along the tangents of their panels. */
struct continuous_rows {
    const struct kernel_set *kernels;
    const struct job *job; /* of the image */
    const struct continuous_work *work;
    int most; /* tangents of a panel, at most */
    struct profile_change *change; /* (spots x most), of the workspace */
    double *grid; /* memory of the changes of spectra */
};

/* Lists the spots of a job and finds their changes; along[p] are the tangents of panel p.
 * Errors: NB_ERR_MEMORY, NB_ERR_CANCELLED. */
nb_status continuous_rows_find(struct progress *progress, const struct kernel_set *kernels,
                               const struct job *job, const struct tangents *const *along,
                               struct continuous_work *work, struct continuous_rows *out);
void continuous_rows_free(struct continuous_rows *rows);

/* Where a part of a tile goes: sums[i], and change[d TILE_PIXELS + i] for all tangents of
 * its panel, where i numbers the rendered pixels (kernels/grid.h). With columns, the part's
 * slopes by structure factors are added there. */
struct rows_of_part {
    int n, lanes; /* tangents; pixels with the repeated ones */
    struct columns *columns; /* or NULL */
    double *sums, *change;
};

/* Returns how many spots may reach a tile. */
size_t continuous_rows_count(const struct continuous_rows *rows, const struct tile *tile);

/* Adds the spots of a part of a tile; stops early when the columns are full. */
void continuous_rows_of(const struct continuous_rows *rows, const struct tile *part,
                        const struct rows_of_part *to);

#endif
