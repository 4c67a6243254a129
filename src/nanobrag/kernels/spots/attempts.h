/*
 * attempts.h - the attempts at an image's derivatives by lanes. They are computed again
 * when the peak of the image shows that they must be: in double when float lost the image,
 * and with a larger radius of the spots when the omitted pairs contribute too much.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_SPOTS_ATTEMPTS_H
#define NB_KERNELS_SPOTS_ATTEMPTS_H

#include "kernels/spots/reach.h"

struct attempts {
    struct job job; /* its `reach` is for this attempt */
    struct kernel_set
        kernels; /* without single precision where this attempt is in double */
    double begin; /* share of the progress that finding the pairs takes */
    struct spots_attempt spot;
    struct spots_work *work; /* NULL: all pairs are visited */
    struct reach reach;
};

/* attempts_first() returns the first attempt. attempts_find_pairs() must run before every
 * attempt; it points the job to the pairs that reach each tile, so a struct attempts must
 * not be moved afterwards. attempts_again() returns 0 when an image with such a peak is
 * precise enough; otherwise it prepares the next attempt and returns 1. Errors:
 * NB_ERR_MEMORY, NB_ERR_CANCELLED. */
struct attempts attempts_first(const struct kernel_set *kernels, const struct job *job,
                               struct spots_work *spots);
nb_status attempts_find_pairs(struct progress *progress, struct attempts *attempts);
int attempts_again(struct attempts *attempts, double peak);

#endif
