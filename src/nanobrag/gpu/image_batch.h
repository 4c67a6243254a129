/*
 * image_batch.h - images of one simulator that share launches: gathered one after the
 * other, then computed at once. Their lists and parameters go to the device in one copy,
 * and their photons come back in one.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_IMAGE_BATCH_H
#define NB_GPU_IMAGE_BATCH_H

#include "gpu/gpu.h"

struct gpu_batch {
    int room; /* for so many images */
    int n; /* gathered */
    int most; /* like these in one launch; no more than there is room for */
    /* of all of them */
    struct gpu_layout layout;
    unsigned known; /* of their frames: enum gpu_frame_flags */
    int there; /* 1: they are the caller's on the device */
    int done; /* 1: computed since the first of them was added */
    /* (room), of the host */
    struct phys_frame *frames;
    struct gpu_output *outputs;
    unsigned char *block; /* as it goes to the device: api/batch.c */
    double
        *photons; /* of `n` images, rows first_slow .. end_slow - 1; NULL: none came back */
    size_t photons_bytes;
    int end_slow;
};

/* How many images like a job's may share a launch; where that is less than 2 they are
 * better computed one after the other. `there`: as in struct gpu_batch. */
int gpu_batch_most(const struct gpu_scene *scene, const struct job *job, int there);

/* Memory for so many images of a job's kind. Errors: NB_ERR_MEMORY. */
nb_status gpu_batch_make(nb_context *ctx, const struct job *job, int room,
                         struct gpu_batch *out);
void gpu_batch_drop(struct gpu_batch *batch);

/* 1 when an image may join those gathered; always if there are none, or they are done.
 * `single`: float was asked for. */
int gpu_batch_takes(const struct gpu_batch *batch, const struct gpu_scene *scene,
                    const struct job *job, int single, int there);

/* One that may, a copy of its frame and lists; `out`: NULL for photons of the host. */
void gpu_batch_add(struct gpu_batch *batch, const struct gpu_scene *scene,
                   const struct job *job, int single, const struct gpu_output *out);

/*
 * Compute what was gathered: photons to batch->photons where they are wanted, as by
 * gpu_forward() but for those that float lost, which is the caller's to ask about. `job`:
 * of any of them. Errors: as of gpu_forward().
 */
nb_status gpu_batch_run(struct progress *progress, struct gpu_scene *scene,
                        const struct job *job, int single, struct gpu_batch *batch);

/* Photons of image i, from row first_slow on; and whether float lost them, so that the
 * image is to be made again by gpu_forward(). */
const double *gpu_batch_photons(const struct gpu_batch *batch, int i);
int gpu_batch_is_lost(const struct gpu_batch *batch, const struct job *job, int i);

#endif
