/*
 * image_launch.h - what image.c does of an image, for the others that launch its kernels:
 * api/batch.c and api/loss.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_IMAGE_LAUNCH_H
#define NB_GPU_IMAGE_LAUNCH_H

#include "gpu/gpu.h"
#include "gpu/text/parameters.h"

/* How many images like a job's keep together to what a band may take, each of them one
 * band; 0: not even one does. */
int image_most(const struct gpu_properties *properties, const struct job *job, int whole);

/* Send what images have in common, and make room for a band each of so many of them: their
 * sums, and, unless job->photons is NULL, their photons. */
nb_status image_common(nb_context *ctx, struct gpu_scene *s, const struct job *job,
                       const struct gpu_layout *l, int images);

/* The parameters of a job, all its tiles; its lists those of scene->sources and
 * orientations, its place in sums and photons the first. */
void image_describe(const struct gpu_scene *s, const struct job *job,
                    const struct gpu_layout *l, struct gpu_parameters *out);

/* Send all of one image, and describe it. */
nb_status image_prepare(nb_context *ctx, struct gpu_scene *s, const struct job *job,
                        const struct gpu_layout *l, struct gpu_parameters *out);

void image_output(const struct gpu_output *out, struct gpu_parameters *p);

#endif
