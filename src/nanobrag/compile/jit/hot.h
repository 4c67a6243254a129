/*
 * hot.h - specialised kernels. If an image kernel is used often, NVRTC builds a specialised
 * kernel in the background. The specialised kernel is compiled for the frame flags of a
 * scene (gpu/text/frame_flags.h), so that it need not test them. In each scene it replaces
 * the kernel compiled with the library, once a comparison in that scene has given the same
 * bits.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_JIT_HOT_H
#define NB_COMPILE_JIT_HOT_H

#include "gpu/driver/gpu_scene.h"
#include "gpu/text/parameters.h"
#include "kernels/job.h"

/* Count one use of the image kernel of a job. On entry *kernel is the kernel compiled with
 * the library, on return it is the kernel to launch. No call waits for a build. To verify a
 * specialised kernel, both kernels are launched on a row of tiles. The comparison sends
 * `parameters` to the device and overwrites partial sums, so do not call it while a launch
 * is under way. A kernel that cannot be built is reported by one context_fall_back().
 * Errors: those of the device. */
nb_status hot_kernel(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                     const struct gpu_layout *layout,
                     const struct gpu_parameters *parameters, struct gpu_kernel *kernel);

/* Returns 1 while a kernel is being built. The first use after the build loads the
 * kernel. */
int hot_is_busy(const struct gpu *gpu);

#endif
