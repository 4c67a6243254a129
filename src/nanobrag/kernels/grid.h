/*
 * grid.h - the grid of tiles on the detector: which tiles a job touches, and copies of one
 * tile's numbers from and to an image.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_GRID_H
#define NB_KERNELS_GRID_H

#include "kernels/job.h"

/* A job touches grid_count() tiles of TILE_FAST x TILE_SLOW pixels, numbered row after row
 * with grid_across() tiles in a row; grid_tile() returns tile i. */
int grid_count(const struct job *job);
int grid_across(const struct job *job);
struct tile grid_tile(const struct job *job, int i);

/* Returns part i of a tile that is divided into parts x parts. */
struct tile grid_part(const struct tile *tile, int parts, int i);

/* Sets the whole image to 0, unless the job renders every pixel of it. */
void grid_clear(const struct job *job);

/* Returns how many pixels of a tile are rendered, that is, lie in the ROI and are not
 * masked. */
int grid_rendered(const struct job *job, const struct tile *tile);

/* Returns 1 when the pixel (s, f) is rendered. */
int grid_is_rendered(const struct job *job, int s, int f);

/* Returns 1 when the job renders no pixel at all. */
int grid_is_empty(const struct job *job);

/* Returns the largest modulus of a tile's values over its rendered pixels. */
double grid_largest(const struct job *job, const struct tile *tile, const double *values);

/* Returns the sum of a tile's values over its rendered pixels. */
double grid_sum(const struct job *job, const struct tile *tile, const double *values);

/* Copies a tile out of the image; pixels that are not rendered read as 0. */
void grid_read(const struct job *job, const struct tile *tile, double *values);

/* Copies a tile's values into the image; masked pixels become 0. Returns the largest
 * modulus that was written. */
double grid_write(const struct job *job, const struct tile *tile, const double *values);

#endif
