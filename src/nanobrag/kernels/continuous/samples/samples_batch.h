/*
 * samples_batch.h - samples of several rows packed side by side, so that lanes are full.
 * A batch has a slot for each pixel of a row. Each sample of a pixel is in another plane:
 * sample j of slot i is at (a[i] + j step[i], b[i]). So the sum over the samples of a pixel
 * is a sum of planes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_SAMPLES_BATCH_H
#define NB_KERNELS_CONTINUOUS_SAMPLES_BATCH_H

#include "kernels/continuous/samples/samples_form.h"

/* SLOTS: of a batch; FEW_SLOTS: where many numbers are kept for each. All loops over slots
 * run over whole vectors: LANES divides both, and rows are written up to the next vector.
 */
enum { SLOTS = 256, FEW_SLOTS = 64, LANES = 64 / sizeof(real) };

/* Slots from `slot` on that are n pixels side by side. */
struct piece {
    size_t pixel;
    int slot, n;
};

struct batch {
    int padded; /* filled slots, up to the end of the last vector */
    int pieces;
    struct piece piece[SLOTS];
    _Alignas(64) real a[SLOTS + LANES];
    _Alignas(64) real step[SLOTS + LANES];
    _Alignas(64) real b[SLOTS + LANES];
};

/* Where the next batch begins. */
struct cursor {
    int row, pixel;
};

/* Places n pixels of a row from `first` on, and up to a vector of more. */
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

/* Fills a batch with at most `most` pixels. Returns 0 when none is left. The slots after
 * the last repeat it. */
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

/* Adds scale * value[slot] to the pixels of a batch. */
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
