/*
 * continuous_tile.c - the photons of a tile and their derivatives (rows of the Jacobian)
 * for a continuous crystal. It is compiled once per instruction set, in double. Arrays hold
 * the rendered pixels in the order of grid_list(), so only the loops over spots need to
 * know where a pixel lies.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/spots/rows/continuous_tile.h"

#include <math.h>
#include <string.h>

#include "kernels/continuous/rows.h"
#include "kernels/grid.h"
#include "kernels/spots/rows/pixel_factors.h"

/* Sets the places of one sample of each pixel, `offset` sub-pixels from the pixel's corner
 * along both axes. */
static void place_samples(const struct factored *a, const struct shown_pixels *shown,
                          double offset, struct factors *restrict x)
{
    const double over = a->frame->oversample, width = a->part.width, per = 1 / width;

#pragma omp simd
    for (int j = 0; j < a->n; j++) {
        const double pixel = shown->pixel[j], row = floor((pixel + 0.5) * per);

        x->fast[j] = over * (a->part.fast + pixel - row * width) + offset;
        x->slow[j] = over * (a->part.slow + row) + offset;
    }
}

/* Adds the derivatives of the pixels along a tangent that moves the places of samples. */
static void close_place(int n, const struct factors *restrict x,
                        const struct row_place *place, double *restrict to)
{
    const struct row_place p = *place;

#pragma omp simd
    for (int j = 0; j < n; j++) {
        double sum = 0;

        for (int k = 0; k < 3; k++)
            sum +=
                x->v[k][j] * (p.place[k] + x->fast[j] * p.fast[k] + x->slow[j] * p.slow[k]);
        to[j] += sum;
    }
}

/* The light of a pixel before its solid angle and polarization: `scale` times `sum`, the
 * sum of F^2, plus `amorphous` times phys_amorphous_level(). */
struct light {
    double scale, amorphous;
    const double *sum;
};

/* Adds the derivatives along a tangent of the numbers on which scale, solid angle and
 * polarization depend. */
static void close_factor(const struct factored *a, const struct factors *restrict x,
                         const struct row_factor *along, const struct light *light,
                         double *restrict to)
{
    const double by_sum = light->scale * along->relative + along->more;
    const double level = light->amorphous * along->amorphous;
    const double *restrict sum = light->sum;

#pragma omp simd
    for (int j = 0; j < a->n; j++) to[j] += x->plain[j] * (by_sum * sum[j] + level);
    if (along->polar == 0) return;
#pragma omp simd
    for (int j = 0; j < a->n; j++)
        to[j] += x->omega[j] * x->bright[j] * polar_change(a->frame, along, x, j);
}

/* Computes solid angle and polarization at samples `offset` sub-pixels from the corners of
 * their pixels, and adds the photons. */
static void find_light(const struct factored *a, const struct shown_pixels *shown,
                       double offset, const struct light *light, struct factors *restrict x,
                       double *restrict photons)
{
    const double level = light->amorphous * phys_amorphous_level(a->frame);

    place_samples(a, shown, offset, x);
#pragma omp simd
    for (int j = 0; j < a->n; j++) x->bright[j] = light->scale * light->sum[j] + level;
    find_factors(a, x);
#pragma omp simd
    for (int j = 0; j < a->n; j++) photons[j] += x->bright[j] * x->plain[j];
}

static void multiply(int n, double factor, const double *restrict by, double *restrict to)
{
#pragma omp simd
    for (int j = 0; j < n; j++) to[j] *= factor * by[j];
}

/* Adds the derivatives of the factors along all tangents. */
static void close_factors(const struct factored *a, const struct factors *x,
                          const struct row_tangents *of, const struct light *light,
                          double *change)
{
    for (int p = 0; p < of->nplaces; p++)
        close_place(a->n, x, of->place + p,
                    change + (size_t)of->place[p].which * TILE_PIXELS);
    for (int f = 0; f < of->nfactors; f++)
        close_factor(a, x, of->factor + f, light,
                     change + (size_t)of->factor[f].which * TILE_PIXELS);
}

int CONTINUOUS_TILE(const struct job *job, const struct tile *part,
                    const struct row_tangents *of, const struct continuous_rows *rows,
                    struct columns *columns, double *photons, double *change)
{
    static const double none[TILE_PIXELS];
    const struct phys_frame *frame = job->frame;
    const int simple = phys_pixels_are_simple(frame), over = frame->oversample;
    const int water = simple && frame->amorphous_scale != 0, apart = water && over > 1;
    double sum[TILE_PIXELS];
    const struct light light = {of->scale, water && !apart, sum};
    const struct light at_centre = {0, 1, none};
    struct factored a = {.frame = frame, .part = *part};
    _Alignas(64) struct factors x;
    struct shown_pixels shown;
    struct rows_of_part to = {of->along->n, 0, columns, sum, change};

    grid_list(part, &shown);
    to.lanes = a.n = shown.lanes;
    memset(sum, 0, (size_t)a.n * sizeof *sum);
    memset(photons, 0, (size_t)a.n * sizeof *photons);
    for (int d = 0; d < of->along->n; d++)
        memset(change + (size_t)d * TILE_PIXELS, 0, (size_t)a.n * sizeof *change);
    continuous_rows_of(rows, part, &to);
    if (columns && columns->full) return simple;
    place_factors(&a);
    find_light(&a, &shown, 0.5, &light, &x, photons);
    for (int d = 0; d < of->along->n && continuous_rows_count(rows, part) > 0; d++)
        multiply(a.n, of->scale, x.plain, change + (size_t)d * TILE_PIXELS);
    for (int c = 0; columns && c < columns->n; c++)
        multiply(a.n, of->scale, x.plain, columns->slope + (size_t)c * (size_t)a.n);
    close_factors(&a, &x, of, &light, change);
    if (!apart) return simple;
    find_light(&a, &shown, 0.5 * over, &at_centre, &x, photons);
    close_factors(&a, &x, of, &at_centre, change);
    return simple;
}
