/*
 * gpu/count.h - converts photons to counts on a device, with the same bits as
 * image/digitize.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_COUNT_H
#define NB_GPU_COUNT_H

#include "base/array.h"
#include "gpu/gpu.h"
#include "physics/noise/counts.h"

/* How to count, and the pixels that are counted. */
struct gpu_counting {
    /* window of the image, the same in each call for a scene */
    const struct window *window;
    int noise; /* 1: Poisson noise */
    double scale, offset; /* scale 0 stands for 55000/max; with noise, scale is not used */
    uint64_t seed;
    uint32_t image;
};

/* Convert an image to counts. Both arrays are on the device, or both are dense arrays of
 * the host. The counts are complete on return. Errors: NB_ERR_DEVICE, NB_ERR_MEMORY (of the
 * device). */
nb_status gpu_count(nb_context *ctx, struct gpu_scene *scene,
                    const struct gpu_counting *how, const nb_array *image,
                    const nb_array *counts, struct phys_tally *out);

#endif
