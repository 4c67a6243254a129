/* noise.c - Poisson numbers on the CPU: see physics/poisson.h. SPDX-License-Identifier: MIT
 */
#include "image/noise.h"

#include "physics/poisson.h"

double noise_poisson(uint64_t seed, uint32_t image, uint64_t pixel, double mean)
{
    const struct phys_stream stream = {seed, pixel, image};

    return phys_poisson(stream, mean);
}
