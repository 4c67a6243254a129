/* grid.c - see grid.h. SPDX-License-Identifier: MIT */
#include "kernels/grid.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

int grid_across(const struct job *job)
{
    return (job->roi[1] + TILE_FAST - 1) / TILE_FAST - job->roi[0] / TILE_FAST;
}

int grid_count(const struct job *job)
{
    const int first = job->roi[2] / TILE_SLOW;

    return grid_across(job) * ((job->roi[3] + TILE_SLOW - 1) / TILE_SLOW - first);
}

struct tile grid_tile(const struct job *job, int i)
{
    const int across = grid_across(job);
    const struct tile tile = {(job->roi[0] / TILE_FAST + i % across) * TILE_FAST,
                              (job->roi[2] / TILE_SLOW + i / across) * TILE_SLOW, TILE_FAST,
                              TILE_SLOW};

    return tile;
}

struct tile grid_part(const struct tile *tile, int parts, int i)
{
    const int width = tile->width / parts, height = tile->height / parts;
    const struct tile part = {tile->fast + i % parts * width,
                              tile->slow + i / parts * height, width, height};

    return part;
}

void grid_clear(const struct job *job)
{
    const int nfast = job->frame->nfast, nslow = job->frame->nslow;
    const int *roi = job->roi;

    if (!job->mask && roi[0] == 0 && roi[1] == nfast && roi[2] == 0 && roi[3] == nslow)
        return;
    memset(job->photons, 0, sizeof *job->photons * (size_t)nslow * (size_t)nfast);
}

/* Returns the length of the overlap of first .. first + size - 1 with low .. high - 1, and
 * its first element in *start. */
static int overlap(int first, int size, int low, int high, int *start)
{
    const int end = first + size < high ? first + size : high;

    *start = first > low ? first : low;
    return end > *start ? end - *start : 0;
}

/* Returns the part of a tile inside the ROI, which lies inside the image. */
static struct tile part_in_roi(const struct job *job, const struct tile *tile)
{
    struct tile p;

    p.width = overlap(tile->fast, tile->width, job->roi[0], job->roi[1], &p.fast);
    p.height = overlap(tile->slow, tile->height, job->roi[2], job->roi[3], &p.slow);
    return p;
}

static size_t place_in(const struct tile *tile, int slow, int fast)
{
    return (size_t)(slow - tile->slow) * (size_t)tile->width + (size_t)(fast - tile->fast);
}

static size_t pixel_at(const struct job *job, int slow, int fast)
{
    return (size_t)slow * (size_t)job->frame->nfast + (size_t)fast;
}

int grid_rendered(const struct job *job, const struct tile *tile)
{
    const struct tile p = part_in_roi(job, tile);
    int count = 0;

    if (!job->mask) return p.width * p.height;
    for (int s = p.slow; s < p.slow + p.height; s++)
        for (int i = 0; i < p.width; i++)
            count += job->mask[pixel_at(job, s, p.fast) + (size_t)i] != 0;
    return count;
}

int grid_is_rendered(const struct job *job, int s, int f)
{
    const int *roi = job->roi;

    return f >= roi[0] && f < roi[1] && s >= roi[2] && s < roi[3]
           && (!job->mask || job->mask[pixel_at(job, s, f)]);
}

int grid_is_empty(const struct job *job)
{
    const int count = grid_count(job);

    for (int t = 0; t < count; t++) {
        const struct tile tile = grid_tile(job, t);

        if (grid_rendered(job, &tile) > 0) return 0;
    }
    return 1;
}

double grid_largest(const struct job *job, const struct tile *tile, const double *values)
{
    const struct tile p = part_in_roi(job, tile);
    double largest = 0;

    for (int s = p.slow; s < p.slow + p.height; s++) {
        const double *row = values + place_in(tile, s, p.fast);
        const uint8_t *mask = job->mask ? job->mask + pixel_at(job, s, p.fast) : NULL;

        for (int i = 0; i < p.width; i++) {
            const double size = mask && !mask[i] ? 0 : fabs(row[i]);

            largest = size > largest ? size : largest;
        }
    }
    return largest;
}

double grid_sum(const struct job *job, const struct tile *tile, const double *values)
{
    const struct tile p = part_in_roi(job, tile);
    double sum = 0;

    for (int s = p.slow; s < p.slow + p.height; s++) {
        const double *row = values + place_in(tile, s, p.fast);
        const uint8_t *mask = job->mask ? job->mask + pixel_at(job, s, p.fast) : NULL;

        for (int i = 0; i < p.width; i++) sum += mask && !mask[i] ? 0 : row[i];
    }
    return sum;
}

void grid_read(const struct job *job, const struct tile *tile, double *values)
{
    const struct tile p = part_in_roi(job, tile);

    memset(values, 0, sizeof *values * (size_t)(tile->width * tile->height));
    for (int s = p.slow; s < p.slow + p.height; s++) {
        double *row = values + place_in(tile, s, p.fast);
        const uint8_t *mask = job->mask ? job->mask + pixel_at(job, s, p.fast) : NULL;

        memcpy(row, job->photons + pixel_at(job, s, p.fast), sizeof *row * (size_t)p.width);
        for (int i = 0; mask && i < p.width; i++)
            if (!mask[i]) row[i] = 0;
    }
}

double grid_write(const struct job *job, const struct tile *tile, const double *values)
{
    const struct tile p = part_in_roi(job, tile);
    double largest = 0;

    for (int s = p.slow; s < p.slow + p.height; s++) {
        const double *row = values + place_in(tile, s, p.fast);
        double *to = job->photons + pixel_at(job, s, p.fast);
        const uint8_t *mask = job->mask ? job->mask + pixel_at(job, s, p.fast) : NULL;

        for (int i = 0; i < p.width; i++) {
            const double value = mask && !mask[i] ? 0 : row[i], size = fabs(value);

            to[i] = value;
            largest = size > largest ? size : largest;
        }
    }
    return largest;
}
