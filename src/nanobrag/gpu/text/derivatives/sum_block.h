/*
 * sum_block.h - sums of tiles to sums of SUM_FAN of them, again and again until one is
 * left: the shape of the tree is that of the number of tiles, whatever the launches, and
 * nothing else has a say in the bits.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_DERIVATIVES_SUM_BLOCK_H
#define NB_GPU_TEXT_DERIVATIVES_SUM_BLOCK_H

#include "gpu/text/block.h"
#include "gpu/text/derivatives/derivatives_parameters.h"

/* block `number`: SUM_FAN rows of numbers to one, and of the last the gradient */
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
    EACH_THREAD(t)
    if (p->gradient && t <= p->n) {
        const double *dot = (const double *)(const void *)(p->dot + (t - 1));
        double sum = t == 0 ? to[SUM_VALUE] : to[SUM_LIST + t - 1];

        for (int i = 0; t > 0 && i < PHYS_NUMBERS; i++) sum += dot[i] * to[SUM_NUMBERS + i];
        p->gradient[t] = sum;
    }
}

#endif
