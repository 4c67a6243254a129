/* grid.c - the tiles of a job, and copies of one tile's numbers from and to an image.
 * SPDX-License-Identifier: MIT */
#include "kernels/grid.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"

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
    struct tile tile = {fast, slow, width, height, 0, 0, {0}};

    for (int r = 0; r < height; r++) tile.shown[r] = UINT32_MAX >> (TILE_FAST - width);
    return tile;
}

struct tile grid_piece(const struct tile *tile, int column, int row, int width, int height)
{
    struct tile piece = grid_whole(tile->fast + column, tile->slow + row, width, height);

    piece.number = tile->number;
    piece.panel = tile->panel;
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

    arena_clear(job->photons,
                sizeof *job->photons * (job->packed ? window_packed(w) : image));
}

void grid_clear(const struct job *job)
{
    if (!window_is_whole(job->window)) grid_zero(job);
}

/* Returns 1 when all pixels of row r of a tile are rendered. */
static int is_full(const struct tile *tile, int r)
{
    return tile->shown[r] == UINT32_MAX >> (TILE_FAST - tile->width);
}

int grid_is_full(const struct tile *tile)
{
    int full = 1;

    for (int r = 0; r < tile->height; r++) full &= is_full(tile, r);
    return full;
}

int grid_rendered(const struct tile *tile)
{
    int count = 0;

    if (grid_is_full(tile)) return tile->width * tile->height;
    for (int r = 0; r < tile->height; r++) count += __builtin_popcount(tile->shown[r]);
    return count;
}

int grid_lanes(const struct tile *tile)
{
    const int n = grid_rendered(tile);

    if (n == tile->width * tile->height) return n;
    return (n + LISTING_STRIDE - 1) / LISTING_STRIDE * LISTING_STRIDE;
}

void grid_list(const struct tile *tile, struct shown_pixels *out)
{
    int n = 0;

    if (grid_is_full(tile)) {
        const int all = tile->width * tile->height;

        out->n = out->lanes = all;
#pragma omp simd
        for (int i = 0; i < all; i++) out->pixel[i] = (uint8_t)i;
        return;
    }
    for (int r = 0; r < tile->height; r++)
        for (int i = 0; i < tile->width; i++) {
            out->pixel[n] = (uint8_t)(r * tile->width + i);
            n += (int)(tile->shown[r] >> i & 1);
        }
    out->n = n;
    out->lanes = grid_lanes(tile);
    for (; n < out->lanes; n++) out->pixel[n] = out->pixel[0];
}

int grid_is_empty(const struct job *job)
{
    return job->window->ntile == 0;
}

static double largest_of(int n, const double *values)
{
    enum {
        CHAINS = 4
    }; /* four chains overlap, while each maximum of one chain waits for the last */
    double largest[CHAINS] = {0};
    int i = 0;

    for (; i + CHAINS <= n; i += CHAINS)
        for (int j = 0; j < CHAINS; j++) {
            const double size = fabs(values[i + j]);

            largest[j] = size > largest[j] ? size : largest[j];
        }
    for (; i < n; i++) largest[0] = fmax(largest[0], fabs(values[i]));
    return fmax(fmax(largest[0], largest[1]), fmax(largest[2], largest[3]));
}

double grid_peak(const struct job *job, const struct tile *tile, const double *values)
{
    const struct tile *of;
    double largest = 0;

    if (!job->shown) return largest_of(grid_rendered(tile), values);
    of = window_tile_at(job->shown, tile->slow, tile->fast);
    for (int r = 0; of && r < tile->height; r++) {
        const uint32_t rendered = tile->shown[r];
        const uint32_t shown =
            of->shown[tile->slow + r - of->slow] >> (tile->fast - of->fast);

        for (int i = 0; i < tile->width; i++) {
            if (!(rendered >> i & 1)) continue;
            if (shown >> i & 1) largest = fmax(largest, fabs(*values));
            values++;
        }
    }
    return largest;
}

double grid_sum(const struct tile *tile, const double *values)
{
    const int n = grid_rendered(tile);
    double sum = 0;

    for (int i = 0; i < n; i++) sum += values[i];
    return sum;
}

/* Returns the place in the photons of the first pixel of row r of a tile. */
static double *row_of(const struct job *job, const struct tile *tile, int r)
{
    const struct window *w = job->window;
    const int s = tile->slow + r;

    if (!job->packed) return job->photons + window_pixel(w, s, tile->fast);
    return job->photons + window_place(tile_span_of(w, s, tile->fast), s, tile->fast);
}

void grid_read(const struct job *job, const struct tile *tile, double *values)
{
    for (int r = 0; r < tile->height; r++) {
        const double *from;

        if (!tile->shown[r]) continue;
        from = row_of(job, tile, r);
        if (is_full(tile, r)) {
            memcpy(values, from, sizeof *values * (size_t)tile->width);
            values += tile->width;
            continue;
        }
        for (int i = 0; i < tile->width; i++)
            if (tile->shown[r] >> i & 1) *values++ = from[i];
    }
}

/* Returns how many of the `size` pixels of a tile along one axis, from pixel `first` on,
 * have a place in the photons; `end` is the size of the image along this axis. */
static int places(const struct job *job, int first, int size, int end)
{
    return job->packed || end - first > size ? size : end - first;
}

void grid_put(const struct job *job, const struct tile *tile, const double *values)
{
    const int width = places(job, tile->fast, tile->width, job->window->nfast);
    const int height = places(job, tile->slow, tile->height, job->window->nslow);
    const double *next = values;

    for (int r = 0; r < height; r++) {
        double *to = row_of(job, tile, r);

        if (is_full(tile, r)) {
            memcpy(to, next, sizeof *to * (size_t)tile->width);
            next += tile->width;
            continue;
        }
        for (int i = 0; i < width; i++) to[i] = tile->shown[r] >> i & 1 ? *next++ : 0;
    }
}

double grid_write(const struct job *job, const struct tile *tile, const double *values)
{
    grid_put(job, tile, values);
    return grid_peak(job, tile, values);
}
