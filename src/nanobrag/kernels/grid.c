/* grid.c - see grid.h. SPDX-License-Identifier: MIT */
#include "kernels/grid.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

int grid_count(const struct job *job)
{
    return job->window->ntile;
}

struct tile grid_tile(const struct job *job, int i)
{
    return job->window->tile[i];
}

struct tile grid_whole(int fast, int slow, int width, int height)
{
    struct tile tile = {fast, slow, width, height, 0, {0}};

    for (int r = 0; r < height; r++) tile.shown[r] = UINT32_MAX >> (TILE_FAST - width);
    return tile;
}

struct tile grid_piece(const struct tile *tile, int column, int row, int width, int height)
{
    struct tile piece = grid_whole(tile->fast + column, tile->slow + row, width, height);

    piece.number = tile->number;
    for (int r = 0; r < height; r++) piece.shown[r] &= tile->shown[row + r] >> column;
    return piece;
}

struct tile grid_part(const struct tile *tile, int parts, int i)
{
    const int width = tile->width / parts, height = tile->height / parts;

    return grid_piece(tile, i % parts * width, i / parts * height, width, height);
}

void grid_zero(const struct job *job)
{
    const struct window *w = job->window;
    const size_t image = (size_t)w->nslow * (size_t)w->nfast;

    memset(job->photons, 0,
           sizeof *job->photons * (job->packed ? window_packed(w) : image));
}

void grid_clear(const struct job *job)
{
    if (!window_is_whole(job->window)) grid_zero(job);
}

int grid_rendered(const struct tile *tile)
{
    int count = 0;

    for (int r = 0; r < tile->height; r++) count += __builtin_popcount(tile->shown[r]);
    return count;
}

static int shows(const struct tile *tile, int row, int column)
{
    return (int)(tile->shown[row] >> column & 1);
}

int grid_is_rendered(const struct tile *tile, int i)
{
    return shows(tile, i / tile->width, i % tile->width);
}

int grid_is_empty(const struct job *job)
{
    return job->window->ntile == 0;
}

/* Copies the first n pixels of row r of a tile; those that are not rendered become 0. */
static void copy_row(const struct tile *tile, int r, int n, const double *from, double *to)
{
    if (tile->shown[r] == UINT32_MAX >> (TILE_FAST - tile->width)) {
        memcpy(to, from, sizeof *to * (size_t)n);
        return;
    }
    for (int i = 0; i < n; i++) to[i] = 0;
    for (int i = 0; i < n; i++)
        if (shows(tile, r, i)) to[i] = from[i];
}

static double largest_of(int n, const double *values)
{
    double largest = 0;

    for (int i = 0; i < n; i++) {
        const double size = fabs(values[i]);

        largest = size > largest ? size : largest;
    }
    return largest;
}

double grid_largest(const struct tile *tile, const double *values)
{
    double largest = 0, row[TILE_FAST];

    for (int r = 0; r < tile->height; r++) {
        copy_row(tile, r, tile->width, values + (size_t)r * (size_t)tile->width, row);
        largest = fmax(largest, largest_of(tile->width, row));
    }
    return largest;
}

double grid_sum(const struct tile *tile, const double *values)
{
    double sum = 0;

    for (int r = 0; r < tile->height; r++)
        for (int i = 0; i < tile->width; i++)
            sum += shows(tile, r, i) ? values[r * tile->width + i] : 0;
    return sum;
}

/* Returns the photons of a tile from pixel 0 of row r on. */
static double *row_of(const struct job *job, const struct tile *tile, int r)
{
    const struct window *w = job->window;
    const int s = tile->slow + r;

    if (!job->packed)
        return job->photons + (size_t)s * (size_t)w->nfast + (size_t)tile->fast;
    return job->photons + window_place(window_run_of(w, s, tile->fast), s, tile->fast);
}

void grid_read(const struct job *job, const struct tile *tile, double *values)
{
    for (int r = 0; r < tile->height; r++, values += tile->width)
        if (tile->shown[r])
            copy_row(tile, r, tile->width, row_of(job, tile, r), values);
        else
            memset(values, 0, sizeof *values * (size_t)tile->width);
}

double grid_write(const struct job *job, const struct tile *tile, const double *values)
{
    const int across = job->packed ? tile->width : job->window->nfast - tile->fast;
    const int down = job->packed ? tile->height : job->window->nslow - tile->slow;
    const int width = across < tile->width ? across : tile->width;
    const int height = down < tile->height ? down : tile->height;
    double largest = 0;

    for (int r = 0; r < height; r++, values += tile->width) {
        double *to = row_of(job, tile, r);

        copy_row(tile, r, width, values, to);
        largest = fmax(largest, largest_of(width, to));
    }
    return largest;
}
