/*
 * image_batch.h - images of one simulator that share launches. They are gathered one after
 * the other, then computed at once: their lists and parameters go to the device in one
 * copy, and their photons come back in one.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_IMAGE_BATCH_H
#define NB_GPU_IMAGE_BATCH_H

#include "gpu/gpu.h"

/* A simulator keeps its batch and the memory of it; both are empty until a call needs them.
 */
struct gpu_batch {
    int capacity; /* images that it can hold */
    size_t bytes; /* on the host, without photons */
    int n; /* images gathered */
    int most; /* images of this kind that one launch may compute, at most `capacity` */
    /* properties that all images share */
    struct gpu_layout layout;
    unsigned frame_flags; /* of their frames: enum gpu_frame_flags */
    int on_device; /* 1: the images go to memory of the caller's on the device */
    int done; /* 1: computed since the first image was added */
    /* (capacity), on the host */
    struct phys_frame *frames;
    struct gpu_output *outputs;
    double *peaks; /* photons of the brightest pixel, where float may lose an image */
    unsigned char *block; /* what is copied to the device: see image_batch.c */
    /* of `n` images, rows first_slow to end_slow - 1; NULL: none were fetched */
    double *photons;
    size_t photons_bytes;
    int end_slow;
};

/* How many images like a job's may share a launch. Below 2 they are better computed one
 * after the other; that is so for those of several panels, which share launches already.
 * `on_device`: as in struct gpu_batch. */
int gpu_batch_limit(const struct gpu_scene *scene, const struct job *job, int on_device);

/* Empty a batch, and let it hold at least so many images of a simulator, of which the job
 * is one. Errors: NB_ERR_MEMORY. */
nb_status gpu_batch_reserve(nb_context *ctx, const struct job *job, int capacity,
                            struct gpu_batch *batch);
void gpu_batch_drop(struct gpu_batch *batch);

/* 1 when an image may be added to those gathered, which is always so if there are none or
 * they are done. `single` asks for float. */
int gpu_batch_accepts(const struct gpu_batch *batch, const struct gpu_scene *scene,
                      const struct job *job, int single, int on_device);

/* Add an image that gpu_batch_accepts(); its frame and lists are copied. `out` is NULL for
 * photons on the host. */
void gpu_batch_add(struct gpu_batch *batch, const struct gpu_scene *scene,
                   const struct job *job, int single, const struct gpu_output *out);

/*
 * Compute the images gathered; photons go to batch->photons where they are needed. Unlike
 * gpu_forward() this does not repeat images that float lost: the caller asks
 * gpu_batch_is_lost(). `job` is that of any of the images. Errors: those of gpu_forward().
 */
nb_status gpu_batch_run(struct progress *progress, struct gpu_scene *scene,
                        const struct job *job, struct gpu_batch *batch);

/* gpu_batch_photons() gives the photons of image i from row first_slow on.
 * gpu_batch_is_lost() is 1 when float lost the image, so that gpu_forward() is to compute
 * it again. */
const double *gpu_batch_photons(const struct gpu_batch *batch, int i);
int gpu_batch_is_lost(const struct gpu_batch *batch, const struct job *job, int i);

#endif
