/*
 * loss_block.h - the contribution of a tile to a loss. The photons are computed as in
 * finish_block.h, compared with the observed photons, and the losses added up over the tile
 * in a fixed order.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_LOSS_BLOCK_H
#define NB_GPU_TEXT_LOSS_BLOCK_H

#include "gpu/text/finish_block.h"
#include "gpu/text/loss_parameters.h"

enum { LOSS_ADDERS = 16 }; /* threads that sum the results of all threads */

/* The memory that the threads of a block share. */
struct loss_shared {
    double value[BLOCK_THREADS], photons[BLOCK_THREADS];
};

/* Computes photons and loss of the pixel of thread t in block `number`; the loss is 0 if
 * the pixel is not rendered. */
PHYS_FN void loss_pixel_at(const struct gpu_loss_parameters *p, int number, int t,
                           const struct finish_thread *own, struct loss_shared *sums)
{
    const struct pixel x = own->pixel;
    const double photons = photons_of(&p->image, number, t, own);

    sums->photons[t] = photons;
    sums->value[t] =
        x.on ? target_loss(&p->target, photons, pixel_number(&p->image, x.s, x.f)).value
             : 0;
}

/* Adds up the losses of threads t, t + step, ... below n. Stores the sum and the largest
 * photons of these threads at index t. */
PHYS_FN void loss_add(int t, int step, int n, struct loss_shared *sums)
{
    double value = 0, most = 0;

    for (int i = t; i < n; i += step) {
        value += sums->value[i];
        most = sums->photons[i] > most ? sums->photons[i] : most;
    }
    sums->value[t] = value;
    sums->photons[t] = most;
}

/* Runs block `number` of a launch, which computes one tile. */
PHYS_FN void loss_block(const struct gpu_loss_parameters *p, int number,
                        struct tile_shared *shared, struct loss_shared *sums)
{
    const struct tile_at at = tile_at(&p->image, number);
    double *totals = p->totals + (long long)number * LOSS_LENGTH;
    struct finish_thread own[BLOCK_OWN];

    EACH_ALONE(t) finish_start(&p->image, &at, t, own + OWN(t));
    find_factors(&p->image, &at, shared, own);
    EACH_THREAD(t) loss_pixel_at(p, number, t, own + OWN(t), sums);
    EACH_THREAD(t)
    if (t < LOSS_ADDERS) loss_add(t, LOSS_ADDERS, BLOCK_THREADS, sums);
    EACH_ALONE(t)
    if (t == 0) {
        loss_add(0, 1, LOSS_ADDERS, sums);
        totals[LOSS_VALUE] = sums->value[0];
        totals[LOSS_BRIGHTEST] = sums->photons[0];
    }
}

#endif
