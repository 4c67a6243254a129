/*
 * image_launch.h - the steps of an image that image_panels.c, image_batch.c, loss_launch.c
 * and derivatives/ share with image_launch.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_IMAGE_LAUNCH_H
#define NB_GPU_IMAGE_LAUNCH_H

#include "gpu/gpu.h"
#include "gpu/text/parameters.h"

/* 1 when a job renders no pixel. */
int image_is_empty(const struct job *job);

/* The cost of a row of tiles, in units of what one launch may cost. */
double image_row_share(const struct gpu_properties *properties, const struct job *job,
                       const struct gpu_layout *l);

/* How many images like a job's fit into one launch, one strip each; 0: not even one does.
 */
int image_most(const struct gpu_properties *properties, const struct job *job, int whole);

/* Send what images have in common, and reserve a strip for each of so many of them: their
 * sums and, unless job->photons is NULL, their photons. */
nb_status image_common(nb_context *ctx, struct gpu_scene *s, const struct job *job,
                       const struct gpu_layout *l, int images);

/* 1 when a loss or derivatives of an image may be recorded: where panels differ in their
 * tiles each has launches of its own, and the recordings of many are not kept. */
int image_records(const struct gpu_properties *properties, const struct job *job);

/* Fill in the parameters of a job that covers all its tiles. Its lists are those of
 * gpu_list(), and its sums and photons come first in their buffers. */
void image_describe(const struct gpu_scene *s, const struct job *job,
                    const struct gpu_layout *l, struct gpu_parameters *out);

/* Send all inputs of one image, fill in its parameters, and choose the kernel of its Bragg
 * sums. */
nb_status image_prepare(nb_context *ctx, struct gpu_scene *s, const struct job *job,
                        const struct gpu_layout *l, struct gpu_parameters *out,
                        struct gpu_kernel *kernel);

/* Let the kernels write the image to the caller's memory on the device. */
void image_output(const struct gpu_output *out, struct gpu_parameters *p);

/* Compute an image of several panels (image_panels.c); the arguments are those of
 * gpu_forward(), which begins and ends the call. */
nb_status image_of_panels(struct progress *progress, struct gpu_scene *s,
                          const struct job *job, int single, const struct gpu_output *out);

#endif
