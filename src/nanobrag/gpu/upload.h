/*
 * upload.h - sends a job to a device: the lists of its frame, its mask and the parameters
 * of the kernels; and bounds how large a launch may be.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_UPLOAD_H
#define NB_GPU_UPLOAD_H

#include "gpu/gpu.h"
#include "gpu/launch/loss_launch.h"
#include "gpu/text/derivatives/derivatives_parameters.h"

/* The address of a buffer as the pointer that the kernels' parameters hold. */
static inline void *gpu_pointer(const struct gpu_buffer *buffer)
{
    return (void *)(uintptr_t)buffer->address;
}

/* The number of pairs of source and orientation. */
double gpu_pairs_of(const struct phys_frame *frame);

/* Returns the cost of a row of tiles, as a fraction of the limit of one launch. The row
 * takes `bytes` of memory, and each of its samples takes `effort` times as long as a sample
 * of an image. */
double gpu_share_of_row(const struct gpu_properties *properties, const struct job *job,
                        const struct gpu_layout *layout, double bytes, double effort);

/* The memory that a launch may take, bytes. */
double gpu_launch_memory(const struct gpu_properties *properties);

/* Begin a call with the job of its image: order its work, and send the mask, once. Then
 * gpu_front_lists() prepares the lists of a frame. gpu_send_common() sends the structure
 * factors, in float or in double, and the amorphous material's list. The panels of an image
 * share these, and so do all images unless structure factors vary. */
nb_status gpu_begin_image(nb_context *ctx, struct gpu_scene *scene, const struct job *job);
void gpu_lists_of(const struct phys_frame *frame, struct gpu_span out[FRONT_LISTS]);
nb_status gpu_send_common(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                          int single);

/* Fill in the parameters of all tiles of a job whose lists and mask were sent. Its Bragg
 * sums come first in their buffer; the caller sets the images. */
void gpu_describe(const struct gpu_scene *scene, const struct job *job,
                  const struct gpu_layout *layout, struct gpu_parameters *out);

/* Call gpu_front_lists(), gpu_send_common() and gpu_describe(). */
nb_status gpu_send_job(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                       const struct gpu_layout *layout, struct gpu_parameters *out);

/* gpu_send_input() sends an image of the host, where it changed, to buffer `number` of the
 * scene's inputs and sets its address. gpu_send_target() does so for the images that a loss
 * compares with, in buffers 1 and 2. `job` is the job of the whole image. gpu_image_on()
 * and gpu_target_on() return the part that the job of a panel reads. */
nb_status gpu_send_input(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                         const struct gpu_input *input, int number, struct gpu_image *out);
nb_status gpu_send_target(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                          const struct gpu_loss_job *loss, struct gpu_target *out);
struct gpu_image gpu_image_on(const struct gpu_image *image, const struct job *panel);
struct gpu_target gpu_target_on(const struct gpu_target *target, const struct job *panel);

/* The kernels find the brightest pixel of each of several images in scene->peaks. The
 * peaks are set to 0 before the first launch; gpu_fetch_peaks() requests them as
 * download() does. */
nb_status gpu_clear_peaks(nb_context *ctx, struct gpu_scene *scene, int images);
nb_status gpu_fetch_peaks(nb_context *ctx, const struct gpu_scene *scene, int images,
                          double *peaks);

/* As gpu_reserve(), but a buffer that grows is filled with zeros. */
nb_status gpu_reserve_zeros(nb_context *ctx, struct gpu *gpu, struct gpu_buffer *buffer,
                            size_t bytes);

#endif
