/*
 * upload.h - uploads a job to a device (the lists of its frame, its mask and the parameters
 * of kernels), and bounds how large a launch may be.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_UPLOAD_H
#define NB_GPU_UPLOAD_H

#include "gpu/gpu.h"
#include "gpu/launch/loss_launch.h"
#include "gpu/text/derivatives/derivatives_parameters.h"

/* Returns the address of a buffer as a pointer, as parameters of kernels hold it. */
static inline void *gpu_pointer(const struct gpu_buffer *buffer)
{
    return (void *)(uintptr_t)buffer->address;
}

/* Returns the number of pairs of source and orientation. */
double gpu_pairs_of(const struct phys_frame *frame);

/* Returns the cost of a row of tiles, as a fraction of the limit of one launch. The row
 * takes `bytes` of memory, and each of its samples takes `effort` times as long as a sample
 * of an image. */
double gpu_share_of_row(const struct gpu_properties *properties, const struct job *job,
                        const struct gpu_layout *layout, double bytes, double effort);

/* Returns the memory that a launch may take, bytes. */
double gpu_launch_memory(const struct gpu_properties *properties);

/* gpu_begin_image() begins a call with the job of its image: it calls gpu_begin() and
 * uploads the mask, once. gpu_lists_of() returns the lists of a frame, for
 * gpu_front_lists(). gpu_send_common() uploads the structure factors, in float or in
 * double, and the table of the amorphous material. All panels of an image share these, and
 * so do all images unless structure factors vary. */
nb_status gpu_begin_image(nb_context *ctx, struct gpu_scene *scene, const struct job *job);
void gpu_lists_of(const struct phys_frame *frame, struct gpu_span out[FRONT_LISTS]);
nb_status gpu_send_common(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                          int single);

/* Fill in the parameters for all tiles of a job whose lists and mask were uploaded. The
 * Bragg sums begin at the start of scene->partial. The caller sets the images. */
void gpu_describe(const struct gpu_scene *scene, const struct job *job,
                  const struct gpu_layout *layout, struct gpu_parameters *out);

/* Call gpu_front_lists(), gpu_send_common() and gpu_describe() for a job. */
nb_status gpu_send_job(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                       const struct gpu_layout *layout, struct gpu_parameters *out);

/* gpu_send_input() uploads an image of the host, if it has changed, to
 * scene->inputs[number], and sets *out to its address; an image on the device stays where
 * it is. gpu_send_target() does this for the images of a loss, with inputs 1 and 2. `job`
 * is the job of the whole image. gpu_image_on() and gpu_target_on() return the part of an
 * image or target that a panel's job reads. */
nb_status gpu_send_input(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                         const struct gpu_input *input, int number, struct gpu_image *out);
nb_status gpu_send_target(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                          const struct gpu_loss_job *loss, struct gpu_target *out);
struct gpu_image gpu_image_on(const struct gpu_image *image, const struct job *panel);
struct gpu_target gpu_target_on(const struct gpu_target *target, const struct job *panel);

/* Kernels find the brightest pixel of each of several images in scene->peaks.
 * gpu_clear_peaks() sets the peaks to 0 before the first launch. gpu_fetch_peaks() requests
 * a download of the peaks, which is complete after wait(). */
nb_status gpu_clear_peaks(nb_context *ctx, struct gpu_scene *scene, int images);
nb_status gpu_fetch_peaks(nb_context *ctx, const struct gpu_scene *scene, int images,
                          double *peaks);

/* Call gpu_reserve(), but fill a buffer that grows with zeros. */
nb_status gpu_reserve_zeros(nb_context *ctx, struct gpu *gpu, struct gpu_buffer *buffer,
                            size_t bytes);

#endif
