/*
 * row_factors.h - the last step of a tile's rows: the solid angle and polarization that are
 * evaluated once per pixel, and their derivatives. Only pixels that hold a sample of a spot
 * take part; each has a slot. The file is compiled with spot_rows.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_SPOTS_ROWS_ROW_FACTORS_H
#define NB_KERNELS_SPOTS_ROWS_ROW_FACTORS_H

#include "kernels/spots/rows/pixel_factors.h"
#include "kernels/spots/rows/row_terms.h"

/* Lists the first sample of each slot's pixel, and its photons without the factors. */
static void list_slots(const struct tile_part *a, struct factors *out)
{
    const int over = a->job->frame->oversample, width = a->part.width;

    for (int j = 0; j < a->nslots; j++) {
        const int row = a->pixel[j] / width, column = a->pixel[j] - row * width;

        out->fast[j] = over * (a->part.fast + column) + 0.5;
        out->slow[j] = over * (a->part.slow + row) + 0.5;
        out->bright[j] = a->of->scale * a->sums[(size_t)j * (size_t)a->own];
    }
}

/* Returns the place of a slot's pixel among the rendered pixels of the part. */
static int place_of(const struct tile_part *a, int slot)
{
    return a->place[a->pixel[slot]];
}

/* Adds the derivatives along the tangents of block `number`. */
static void close_block(const struct tile_part *a, const struct factors *x, int number,
                        double *change)
{
    const struct row_block *block = a->of->block + number;
    const double *row = a->rows + (size_t)number * TILE_PIXELS * ROW_BLOCK;

    for (int j = 0; j < a->nslots; j++, row += ROW_BLOCK)
        for (int t = 0; t < block->n; t++)
            change[block->which[t] * TILE_PIXELS + place_of(a, j)] +=
                a->of->scale * x->plain[j] * row[t];
}

/* Adds the derivatives along a tangent that moves samples, the one at index `number` of
 * a->of->place. */
static void close_place(const struct tile_part *a, const struct factors *x, int number,
                        double *change)
{
    const struct row_place *place = a->of->place + number;
    const double *moved = a->moved + (size_t)number * TILE_PIXELS;
    double *to = change + (size_t)place->which * TILE_PIXELS;

    for (int j = 0; j < a->nslots; j++) {
        double sum = a->of->scale * x->plain[j] * moved[j];

        for (int k = 0; k < 3; k++)
            sum += x->v[k][j]
                   * (place->place[k] + x->fast[j] * place->fast[k]
                      + x->slow[j] * place->slow[k]);
        to[place_of(a, j)] += sum;
    }
}

/* Adds the derivatives along a tangent of the numbers on which the factors depend. */
static void close_factor(const struct tile_part *a, const struct factors *x,
                         const struct row_factor *along, double *change)
{
    double *to = change + (size_t)along->which * TILE_PIXELS;

    for (int j = 0; j < a->nslots; j++)
        to[place_of(a, j)] += x->plain[j]
                                  * (along->relative * x->bright[j]
                                     + along->more * a->sums[(size_t)j * (size_t)a->own])
                              + along->polar * x->omega[j] * x->bright[j]
                                    * polar_change(a->job->frame, along, x, j);
}

/* Adds the photons of all slots, and their derivatives to `change`. */
static void close_slots(const struct tile_part *a, struct columns *columns, double *photons,
                        double *change)
{
    const struct factored of = {a->job->frame, a->part, a->patch, a->small, a->nslots};
    const size_t n = (size_t)a->lanes;
    _Alignas(64) struct factors x;

    list_slots(a, &x);
    find_factors(&of, &x);
    for (int j = 0; j < a->nslots; j++) photons[place_of(a, j)] = x.bright[j] * x.plain[j];
    for (int b = 0; b < a->of->nblocks; b++) close_block(a, &x, b, change);
    for (int p = 0; p < a->of->nplaces; p++) close_place(a, &x, p, change);
    for (int f = 0; f < a->of->nfactors; f++)
        close_factor(a, &x, a->of->factor + f, change);
    for (int c = 0; columns && c < columns->n; c++)
        for (int j = 0; j < a->nslots; j++)
            columns->slope[(size_t)c * n + (size_t)place_of(a, j)] *=
                a->of->scale * x.plain[j];
}

#endif
