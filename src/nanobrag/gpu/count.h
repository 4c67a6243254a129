/*
 * count.h - photons to counts on a device, with the bits of image/digitize.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_COUNT_H
#define NB_GPU_COUNT_H

#include "base/array.h"
#include "gpu/gpu.h"
#include "physics/noise/counts.h"

/* the counting to do, and the pixels it covers */
struct gpu_counting {
    const struct window *window; /* of the image, the same in each call for a scene */
    int noise; /* 1: Poisson */
    double scale, offset; /* scale 0: 55000/max; not used with noise */
    uint64_t seed;
    uint32_t image;
};

/* Convert an image to counts, both on the device, or dense arrays of the host; the work is
 * done on return. Errors: NB_ERR_DEVICE, NB_ERR_MEMORY (of the device). */
nb_status gpu_count(nb_context *ctx, struct gpu_scene *scene,
                    const struct gpu_counting *how, const nb_array *image,
                    const nb_array *counts, struct phys_tally *out);

#endif
