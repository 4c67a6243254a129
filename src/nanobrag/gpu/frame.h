/*
 * frame.h - a job sent to a device: the lists of its frame and its mask, and what kernels
 * are told of them; and how large a launch may be.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_FRAME_H
#define NB_GPU_FRAME_H

#include "gpu/gpu.h"
#include "gpu/parameters.h"

/* an address as the kernels' text spells it */
static inline void *gpu_at(const struct gpu_buffer *buffer)
{
    return (void *)(uintptr_t)buffer->address;
}

/* pairs of source and orientation */
double gpu_pairs_of(const struct phys_frame *frame);

/* What a row of so many tiles takes, in units of what a launch may: memory, of which it
 * needs so many bytes, or samples, each of which costs `effort` times one of an image. */
double gpu_share_of_row(const struct gpu_facts *facts, const struct job *job, int across,
                        double bytes, double effort);

/* Send the lists and the mask. Of `out` what is left are the first row and how many, the
 * segments, sums and images. */
nb_status gpu_send_job(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                       const struct gpu_layout *layout, struct gpu_parameters *out);

/* As gpu_reserve(), zeros where it grows. */
nb_status gpu_reserve_zeros(nb_context *ctx, struct gpu *gpu, struct gpu_buffer *buffer,
                            size_t bytes);

#endif
