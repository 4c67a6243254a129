/*
 * attempts.h - repeated attempts at an image's derivatives by lanes. The peak of the image
 * shows whether another attempt is needed: in double if float has lost the image, or with a
 * larger radius of the spots if the omitted pairs of source and orientation contribute too
 * much.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_SPOTS_ATTEMPTS_H
#define NB_KERNELS_SPOTS_ATTEMPTS_H

#include "kernels/spots/reach.h"

struct attempts {
    struct job job; /* the image's job; job.reach is set for each attempt */
    /* all kernels in float are NULL if this attempt is in double */
    struct kernel_set kernels;
    double begin; /* share of the progress that finding the pairs takes */
    struct spots_attempt spot; /* radius of the spots */
    struct spots_work *work; /* NULL: all pairs of source and orientation are visited */
    struct reach reach;
};

/* attempts_first() returns the first attempt. Call attempts_find_pairs() before every
 * attempt. It finds the pairs of source and orientation that reach each tile and points the
 * member `job` to them, so a struct attempts must not be moved afterwards. attempts_again()
 * returns 0 if an image with this peak is precise enough; otherwise it prepares the next
 * attempt and returns 1. Errors: NB_ERR_MEMORY, NB_ERR_CANCELLED. */
struct attempts attempts_first(const struct kernel_set *kernels, const struct job *job,
                               struct spots_work *spots);
nb_status attempts_find_pairs(struct progress *progress, struct attempts *attempts);
int attempts_again(struct attempts *attempts, double peak);

#endif
