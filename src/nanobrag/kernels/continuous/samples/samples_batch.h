/*
 * samples_batch.h - samples of several rows packed side by side, so that SIMD lanes are
 * full. A batch has a slot for each pixel of a row, and a plane for each sample of a pixel:
 * sample j of slot i is at (a[i] + j step[i], b[i]). So the sum over the samples of a pixel
 * is a sum over planes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_SAMPLES_BATCH_H
#define NB_KERNELS_CONTINUOUS_SAMPLES_BATCH_H

#include "kernels/continuous/samples/samples_form.h"

/* A batch has SLOTS slots, or FEW_SLOTS if many numbers are kept for each slot. All loops
 * over slots run over whole vectors: LANES divides both numbers, and rows are written up to
 * the end of a vector. */
enum { SLOTS = 256, FEW_SLOTS = 64, LANES = 64 / sizeof(real) };

/* n slots, from `slot` on, for n pixels side by side, from `pixel` on. */
struct piece {
    size_t pixel;
    int slot, n;
};

/* Some pixels, and the places of their samples. */
struct batch {
    int padded; /* number of slots filled, rounded up to whole vectors */
    int pieces;
    struct piece piece[SLOTS];
    _Alignas(64) real a[SLOTS + LANES];
    _Alignas(64) real step[SLOTS + LANES];
    _Alignas(64) real b[SLOTS + LANES];
};

/* Where the next batch begins: pixel `pixel` of element `row` of the rows. */
struct cursor {
    int row, pixel;
};

/* Places n pixels of a row, from pixel `first` on, in the slots from `slot` on. Whole
 * vectors are written, so that some slots after these change too. */
static void place_pixels(const struct sample_row *row, int over, int first, int n,
                         struct batch *batch, int slot)
{
    real *restrict a = batch->a + slot, *restrict b = batch->b + slot;
    real *restrict step = batch->step + slot;
    const double begin = row->a, width = over * row->da;
    const real da = (real)row->da, at = (real)row->b;
    const int end = (n + LANES - 1) / LANES * LANES;

#pragma omp simd
    for (int i = 0; i < end; i++) {
        a[i] = (real)(begin + (double)(first + i) * width);
        step[i] = da;
        b[i] = at;
    }
}

/* Fills a batch with at most `most` pixels and returns their number, 0 if none is left. The
 * slots up to the end of the last vector repeat the last pixel. */
static int fill_batch(struct batch *batch, int most, int over, int nrows,
                      const struct sample_row *rows, struct cursor *at)
{
    int n = 0;

    batch->pieces = 0;
    while (n < most && at->row < nrows) {
        const struct sample_row *row = rows + at->row;
        const int left = row->n / over - at->pixel;
        const int take = left < most - n ? left : most - n;

        if (take > 0) {
            place_pixels(row, over, at->pixel, take, batch, n);
            batch->piece[batch->pieces++] =
                (struct piece){row->pixel + (size_t)at->pixel, n, take};
            n += take;
        }
        at->pixel += take;
        if (take < left) break;
        at->row++;
        at->pixel = 0;
    }
    batch->padded = (n + LANES - 1) / LANES * LANES;
    for (int i = n; i < batch->padded; i++) {
        batch->a[i] = batch->a[n - 1];
        batch->b[i] = batch->b[n - 1];
        batch->step[i] = batch->step[n - 1];
    }
    return n;
}

/* Adds scale * value[slot] to the pixel of each slot of a batch. */
static void add_to_batch(const struct batch *batch, double scale,
                         const real *restrict value, double *restrict pixel)
{
    for (int i = 0; i < batch->pieces; i++) {
        const struct piece *piece = batch->piece + i;
        double *restrict to = pixel + piece->pixel;
        const real *restrict from = value + piece->slot;

        for (int j = 0; j < piece->n; j++) to[j] += scale * (double)from[j];
    }
}

#endif
