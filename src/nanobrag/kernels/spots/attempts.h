/*
 * attempts.h - an image's derivatives by lanes, once more where its peak shows that it must
 * be: in double, when float lost it; with wider spots, when those that were left out count.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_SPOTS_ATTEMPTS_H
#define NB_KERNELS_SPOTS_ATTEMPTS_H

#include "kernels/spots/reach.h"

struct attempts {
    struct job job; /* with the pairs of this trial */
    struct kernel_set kernels; /* of this trial */
    double begin; /* of the progress goes to finding pairs */
    struct spots_attempt spot;
    struct spots_work *work; /* NULL: all pairs are visited */
    struct reach reach;
};

/* The first trial; attempts_pairs() before each: the job gets its pairs; attempts_again()
 * after it: 0 when an image with such a peak is good, else the next. A struct trials does
 * not move. */
struct attempts attempts_first(const struct kernel_set *kernels, const struct job *job,
                               struct spots_work *spots);
nb_status attempts_pairs(struct progress *progress, struct attempts *attempts);
int attempts_again(struct attempts *attempts, double peak);

#endif
