/*
 * upload.h - a job sent to a device: the lists of its frame and its mask, and what kernels
 * are told of them; and how large a launch may be.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_UPLOAD_H
#define NB_GPU_UPLOAD_H

#include "gpu/gpu.h"
#include "gpu/loss_launch.h"
#include "gpu/text/derivatives/derivatives_parameters.h"

/* an address as the kernels' text spells it */
static inline void *gpu_at(const struct gpu_buffer *buffer)
{
    return (void *)(uintptr_t)buffer->address;
}

/* pairs of source and orientation */
double gpu_pairs_of(const struct phys_frame *frame);

/* What a row of so many tiles takes, in units of what a launch may: memory, of which it
 * needs so many bytes, or samples, each of which costs `effort` times one of an image. */
double gpu_share_of_row(const struct gpu_properties *properties, const struct job *job,
                        int across, double bytes, double effort);

/* The memory that a launch may take, bytes. */
double gpu_launch_memory(const struct gpu_properties *properties);

/* Send sources and orientations; and what stays alike from image to image: structure
 * factors, unless they move, the amorphous material's list, and the mask. */
nb_status gpu_send_lists(nb_context *ctx, struct gpu_scene *scene, const struct job *job);
nb_status gpu_send_common(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                          int single);

/* What a kernel is told of a job whose lists were sent, but for the rows of tiles, the
 * segments, sums and images. */
void gpu_describe(const struct gpu_scene *scene, const struct job *job,
                  const struct gpu_layout *layout, struct gpu_parameters *out);

/* All three. */
nb_status gpu_send_job(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                       const struct gpu_layout *layout, struct gpu_parameters *out);

/* Send an image of the host, in buffer `number` of the scene's inputs, and say where it is;
 * and what a loss compares with, which takes buffers 1 and 2. */
nb_status gpu_send_input(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                         const struct gpu_input *input, int number, struct gpu_image *out);
nb_status gpu_send_target(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                          const struct gpu_loss_job *loss, struct gpu_target *out);

/* As gpu_reserve(), zeros where it grows. */
nb_status gpu_reserve_zeros(nb_context *ctx, struct gpu *gpu, struct gpu_buffer *buffer,
                            size_t bytes);

#endif
