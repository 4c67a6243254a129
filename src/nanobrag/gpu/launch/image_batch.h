/*
 * image_batch.h - images of one simulator that share launches. They are gathered one after
 * the other, then computed at once.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_LAUNCH_IMAGE_BATCH_H
#define NB_GPU_LAUNCH_IMAGE_BATCH_H

#include "gpu/gpu.h"

/* A simulator keeps its batch and the memory of it; both are empty until a call needs them.
 */
struct gpu_batch {
    int capacity; /* images that it can hold */
    size_t bytes; /* on the host */
    int n; /* images gathered */
    int on_device; /* 1: the images are on the device, all of them */
    int done; /* 1: computed */
    /* (capacity) */
    struct phys_frame *frames;
    nb_array *images; /* of the caller */
    unsigned char *lists; /* of the frames: sources, orientations */
};

/* Returns how many images like a job's may share a launch. If fewer than 2, compute them
 * one after the other: the panels of an image, for example, share launches already. */
int gpu_batch_limit(const struct gpu_scene *scene, const struct job *job);

/* Empty a batch, and let it hold at least `capacity` images of a simulator. `job` computes
 * one of them. Errors: NB_ERR_MEMORY. */
nb_status gpu_batch_reserve(nb_context *ctx, const struct job *job, int capacity,
                            struct gpu_batch *batch);
void gpu_batch_drop(struct gpu_batch *batch);

/* Returns 1 when an image may be added to those gathered. */
int gpu_batch_accepts(const struct gpu_batch *batch, const nb_array *image);

/* Add an image that gpu_batch_accepts(); its frame and lists are copied. */
void gpu_batch_add(struct gpu_batch *batch, const struct phys_frame *frame,
                   const nb_array *image);

/* Compute the images gathered. `job` computes any one of them, and `single` asks for float.
 * Errors: as gpu_forward(). */
nb_status gpu_batch_run(struct progress *progress, struct gpu_scene *scene,
                        const struct job *job, int single, struct gpu_batch *batch);

#endif
