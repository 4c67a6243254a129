/*
 * trials.h - an image's derivatives by lanes, once more where its peak shows that it must
 * be: in double, when float lost it; with wider spots, when those that were left out count.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_TRIALS_H
#define NB_KERNELS_TRIALS_H

#include "kernels/live.h"

struct trials {
    struct job job; /* with the pairs of this trial */
    struct kernel_set kernels; /* of this trial */
    double begin; /* of the headway goes to finding pairs */
    struct spots_trial spot;
    struct spots_work *work; /* NULL: all pairs are visited */
    struct live live;
};

/* The first trial; trials_pairs() before each: the job gets its pairs; trials_again() after
 * it: 0 when an image with such a peak is good, else the next. A struct trials does not
 * move. */
struct trials trials_first(const struct kernel_set *kernels, const struct job *job,
                           struct spots_work *spots);
nb_status trials_pairs(struct headway *headway, struct trials *trials);
int trials_again(struct trials *trials, double peak);

#endif
