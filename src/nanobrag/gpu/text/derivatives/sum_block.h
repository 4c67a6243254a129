/*
 * sum_block.h - adds up the totals of tiles, SUM_FAN at a time, again and again until one
 * sum is left. The shape of this tree depends only on the number of tiles, not on how they
 * were launched, and nothing else affects the bits.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_DERIVATIVES_SUM_BLOCK_H
#define NB_GPU_TEXT_DERIVATIVES_SUM_BLOCK_H

#include "gpu/text/block.h"
#include "gpu/text/derivatives/derivatives_parameters.h"

/* Runs block `number`, which adds up SUM_FAN arrays of totals. From the last sum of all it
 * also computes value and gradient. */
PHYS_FN void sum_block(const struct gpu_sum_parameters *p, int number)
{
    const int first = number * SUM_FAN;
    const int end = first + SUM_FAN < p->count ? first + SUM_FAN : p->count;
    double *to = p->to + (long long)number * p->length;

    EACH_THREAD(t)
    for (int i = t; i < p->length; i += BLOCK_THREADS) {
        const int brightest = i == p->length - 1;
        double sum = 0;

        for (int k = first; k < end; k++) {
            const double next = p->from[(long long)k * p->length + i];

            sum = brightest ? (next > sum ? next : sum) : sum + next;
        }
        to[i] = sum;
    }
    EACH_ALONE(t)
    if (p->gradient && t <= p->n) {
        const double *dot = (const double *)(const void *)(p->dot + (t - 1));
        double sum = t == 0 ? to[SUM_VALUE] : to[SUM_LIST + t - 1];

        for (int i = 0; t > 0 && i < PHYS_NUMBERS; i++) sum += dot[i] * to[SUM_NUMBERS + i];
        p->gradient[t] = sum;
    }
}

#endif
