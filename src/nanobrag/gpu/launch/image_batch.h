/*
 * image_batch.h - images of one simulator that share launches. They are gathered one after
 * the other, then computed together.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_LAUNCH_IMAGE_BATCH_H
#define NB_GPU_LAUNCH_IMAGE_BATCH_H

#include "gpu/gpu.h"

/* A simulator has one batch, whose memory is allocated when a call first needs it. */
struct gpu_batch {
    int capacity; /* number of images for which there is memory */
    size_t bytes; /* bytes of memory on the host */
    int n; /* number of gathered images */
    int on_device; /* 1: all images are on the device; 0: all are on the host */
    int done; /* 1: the images were computed */
    /* (capacity) frames and images */
    struct phys_frame *frames;
    nb_array *images; /* the caller's images */
    unsigned char *lists; /* for each frame its sources, then its orientations */
};

/* Returns how many images like the job's may share a launch. If this is less than 2, the
 * caller computes images one after the other. An example is an image of panels, which share
 * launches already. */
int gpu_batch_limit(const struct gpu_scene *scene, const struct job *job);

/* Empty a batch, and let it hold at least `capacity` images of a simulator. `job` computes
 * one of them. Errors: NB_ERR_MEMORY. */
nb_status gpu_batch_reserve(nb_context *ctx, const struct job *job, int capacity,
                            struct gpu_batch *batch);
void gpu_batch_drop(struct gpu_batch *batch);

/* Returns 1 if an image may be added to the gathered images. */
int gpu_batch_accepts(const struct gpu_batch *batch, const nb_array *image);

/* Add an image that gpu_batch_accepts(); its frame and lists are copied. */
void gpu_batch_add(struct gpu_batch *batch, const struct phys_frame *frame,
                   const nb_array *image);

/* Compute the gathered images. `job` computes any one of them, and `single` asks for float.
 * Errors: as for gpu_forward(). */
nb_status gpu_batch_run(struct progress *progress, struct gpu_scene *scene,
                        const struct job *job, int single, struct gpu_batch *batch);

#endif
