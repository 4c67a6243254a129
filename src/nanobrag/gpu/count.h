/*
 * count.h - photons to counts on a device, with the bits of image/digitize.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_COUNT_H
#define NB_GPU_COUNT_H

#include "gpu/gpu.h"
#include "physics/counts.h"

/* how, and which pixels */
struct gpu_counting {
    int nslow, nfast;
    const int *roi; /* (4) fast0 fast1 slow0 slow1, ends excluded */
    const uint8_t *mask; /* of the host, the same in each call for a scene; or NULL */
    int noise; /* 1: Poisson */
    double scale, offset; /* scale 0: 55000/max; without noise */
    uint64_t seed;
    uint32_t image;
};

/* From an image on the device to counts there, done when it returns. Errors: NB_ERR_DEVICE,
 * NB_ERR_MEMORY (of the device). */
nb_status gpu_count(nb_context *ctx, struct gpu_scene *scene,
                    const struct gpu_counting *how, const struct gpu_output *image,
                    const struct gpu_output *counts, struct phys_tally *out);

/* The same for dense arrays of the host, the image's of `bits`. */
nb_status gpu_count_from_host(nb_context *ctx, struct gpu_scene *scene,
                              const struct gpu_counting *how, const void *image, int bits,
                              uint16_t *counts, struct phys_tally *out);

#endif
