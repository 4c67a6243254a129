/*
 * grid.h - the tiles of a job, and copies of one tile's numbers from and to an image.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_GRID_H
#define NB_KERNELS_GRID_H

#include "kernels/job.h"

/* grid_count() returns how many tiles the job of an image has, grid_tile() returns tile i.
 * Every function below that takes a job and a tile takes the job of the tile's panel. */
int grid_count(const struct job *job);
struct tile grid_tile(const struct job *job, int i);

/* Returns a tile that belongs to no window: a rectangle with all pixels rendered. */
struct tile grid_whole(int fast, int slow, int width, int height);

/* Returns a part of a tile: the rectangle that begins at pixel (row, column) of the
 * tile. */
struct tile grid_piece(const struct tile *tile, int column, int row, int width, int height);

/* Returns part i of a tile that is divided into parts x parts. */
struct tile grid_part(const struct tile *tile, int parts, int i);

/* grid_zero() sets all photons of the job of an image to 0. grid_clear() does the same
 * unless the job renders every pixel. */
void grid_zero(const struct job *job);
void grid_clear(const struct job *job);

/* Returns 1 when all pixels of a tile are rendered. */
int grid_is_full(const struct tile *tile);

/* Returns how many pixels of a tile are rendered. */
int grid_rendered(const struct tile *tile);

/*
 * The rendered pixels of a tile, row after row: pixel[i] is the number that rendered pixel
 * i has among all pixels of the tile. Kernels read and write the numbers of a tile in this
 * order, in arrays of TILE_PIXELS.
 *
 * Unless every pixel of the tile is rendered, the first rendered pixel is repeated until
 * whole vectors are full. So a pixel is computed by the same instructions whichever other
 * pixels are rendered. Inputs at the repeated pixels are 0, and their outputs are not used.
 */
enum { LISTING_STRIDE = 16 };

struct shown_pixels {
    int n, lanes; /* number of rendered pixels; the same with the repeated pixels */
    uint8_t pixel[TILE_PIXELS];
};

void grid_list(const struct tile *tile, struct shown_pixels *out);

/* Returns the member `lanes` that grid_list() would give to a tile. */
int grid_lanes(const struct tile *tile);

/* Returns 1 when the job renders no pixel at all. */
int grid_is_empty(const struct job *job);

/* Returns the largest modulus of a tile's values at the pixels that count for the peak of
 * the image: those of job->shown. */
double grid_peak(const struct job *job, const struct tile *tile, const double *values);

/* Returns the sum of a tile's values. */
double grid_sum(const struct tile *tile, const double *values);

/* Copies the photons of a tile's rendered pixels to `values`. */
void grid_read(const struct job *job, const struct tile *tile, double *values);

/* grid_put() and grid_write() copy a tile's values to the photons; pixels that are not
 * rendered become 0. grid_write() also returns the tile's grid_peak(). */
void grid_put(const struct job *job, const struct tile *tile, const double *values);
double grid_write(const struct job *job, const struct tile *tile, const double *values);

#endif
