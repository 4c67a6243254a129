/*
 * noise.h - Poisson draws: ours, by counter, and nanoBragg's, by stream.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IMAGE_NOISE_H
#define NB_IMAGE_NOISE_H

#include <stdint.h>

#include "physics/poisson.h"
#include "scene/random.h"

/* A Poisson number of the given mean; depends on its arguments alone. NaN or a mean
 * <= 0 gives 0. */
PHYS_FN double noise_poisson(uint64_t seed, uint32_t image, uint64_t pixel, double mean)
{
    const struct phys_stream stream = {seed, pixel, image};

    return phys_poisson(stream, mean);
}

/* The same by nanoBragg's float arithmetic; draws from and advances `random`. `spare`
 * keeps the second normal of a pair; zero it before the first call. */
struct noise_spare {
    int filled;
    float value;
};
float noise_poisson_quirk(struct random_stream *random, struct noise_spare *spare,
                          float mean);

#endif
