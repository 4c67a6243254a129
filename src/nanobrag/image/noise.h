/*
 * noise.h - Poisson numbers: from the counter-based generator of physics/noise/poisson.h,
 * or from the stream of nanoBragg.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IMAGE_NOISE_H
#define NB_IMAGE_NOISE_H

#include <stdint.h>

#include "physics/noise/poisson.h"
#include "scene/random.h"

/* Returns a Poisson number of the given mean. It depends only on the arguments; 0 if the
 * mean is NaN, 0 or less. */
PHYS_FN double noise_poisson(uint64_t seed, uint32_t image, uint64_t pixel, double mean)
{
    const struct phys_stream stream = {seed, pixel, image};

    return phys_poisson(stream, mean);
}

/* The second normal number of a pair, for the next draw; all 0 before the first. */
struct noise_spare {
    int filled;
    float value;
};

/* Returns a Poisson number in nanoBragg's float arithmetic, from the stream `random`. */
float noise_poisson_quirk(struct random_stream *random, struct noise_spare *spare,
                          float mean);

#endif
