/*
 * rows.h - the derivatives of the pixels of a tile (rows of the Jacobian) from the spots of
 * a continuous crystal.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_ROWS_H
#define NB_KERNELS_CONTINUOUS_ROWS_H

#include "kernels/continuous/continuous.h"
#include "kernels/derivatives/tile_jacobian.h"

/* The derivatives of all spots along the tangents of their panels. */
struct continuous_rows {
    const struct kernel_set *kernels;
    const struct job *job; /* the job of the image */
    const struct continuous_work *work;
    int *no_memory; /* becomes 1 if continuous_rows_of() has no memory for a spectrum */
    int most; /* largest number of tangents of a panel */
    struct profile_change *change; /* (spots x most), in the workspace */
    double *grid; /* memory for the derivatives of spectra */
};

/* Lists the spots of a job and finds their derivatives along along[p], the tangents of
 * panel p. Errors: NB_ERR_MEMORY, NB_ERR_CANCELLED. */
nb_status continuous_rows_find(struct progress *progress, const struct kernel_set *kernels,
                               const struct job *job, const struct tangents *const *along,
                               struct continuous_work *work, struct continuous_rows *out);
void continuous_rows_free(struct continuous_rows *rows);

/* Where the sums of a part of a tile are added: sums[i], and change[d TILE_PIXELS + i] for
 * all tangents d of the panel, where i numbers the rendered pixels (kernels/grid.h). If
 * `columns` is not NULL, the derivatives by structure factors are added to it. */
struct rows_of_part {
    int n, lanes; /* number of tangents; length of a row of `change` */
    struct columns *columns; /* NULL: no derivatives by structure factors */
    double *sums, *change;
};

/* Returns how many spots may reach a tile. */
size_t continuous_rows_count(const struct continuous_rows *rows, const struct tile *tile);

/* Adds the spots of a part of a tile; returns early if the columns are full. After the last
 * tile the caller must look at *rows->no_memory. */
void continuous_rows_of(const struct continuous_rows *rows, const struct tile *part,
                        const struct rows_of_part *to);

#endif
