/*
 * noise.h - draws Poisson numbers: with the counter-based generator of
 * physics/noise/poisson.h, or as nanoBragg does.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IMAGE_NOISE_H
#define NB_IMAGE_NOISE_H

#include <stdint.h>

#include "physics/noise/poisson.h"
#include "scene/random.h"

/* Returns a Poisson number of the given mean, or 0 if the mean is NaN, 0 or less. The
 * number depends only on the arguments. */
PHYS_FN double noise_poisson(uint64_t seed, uint32_t image, uint64_t pixel, double mean)
{
    const struct phys_stream stream = {seed, pixel, image};

    return phys_poisson(stream, mean);
}

/* Normal numbers are drawn in pairs; this holds the second one for the next draw. All
 * members are 0 before the first draw. */
struct noise_spare {
    int filled;
    float value;
};

/* Returns a Poisson number from the stream `random`, in the float arithmetic of
 * nanoBragg. */
float noise_poisson_quirk(struct random_stream *random, struct noise_spare *spare,
                          float mean);

#endif
