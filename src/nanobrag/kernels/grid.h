/*
 * grid.h - the tiles of a detector: which of them a job touches, and the numbers of one in
 * and out of an image.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_GRID_H
#define NB_KERNELS_GRID_H

#include "kernels/job.h"

/* The tiles that a job touches, row after row; each TILE_FAST x TILE_SLOW pixels. */
int grid_count(const struct job *job);
int grid_across(const struct job *job); /* in a row */
struct tile grid_tile(const struct job *job, int i);

/* Part i of a tile that is divided into parts x parts. */
struct tile grid_part(const struct tile *tile, int parts, int i);

/* Make 0 of an image, unless every pixel of it is rendered. */
void grid_blank(const struct job *job);

/* How many pixels of a tile are rendered: in the ROI and not masked. */
int grid_rendered(const struct job *job, const struct tile *tile);

/* 1 when pixel (f, s) is. */
int grid_shows(const struct job *job, int s, int f);

/* 1 when no pixel is. */
int grid_is_empty(const struct job *job);

/* The largest modulus of a tile's numbers over its rendered pixels. */
double grid_largest(const struct job *job, const struct tile *tile, const double *values);

/* The sum of a tile's numbers over its rendered pixels. */
double grid_sum(const struct job *job, const struct tile *tile, const double *values);

/* The numbers of a tile out of the image, 0 for pixels that are not rendered. */
void grid_collect(const struct job *job, const struct tile *tile, double *values);

/* And into it: rendered pixels only. Returns the largest written, as a modulus. */
double grid_deliver(const struct job *job, const struct tile *tile, const double *values);

#endif
