/*
 * hot.h - specialised kernels. For an image kernel that is used often, NVRTC builds a
 * specialised kernel in the background. It is compiled for the frame flags
 * (gpu/text/frame_flags.h) and so does not test them. It replaces the kernel of the build
 * in each scene where a comparison has verified that it gives the same bits.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_JIT_HOT_H
#define NB_COMPILE_JIT_HOT_H

#include "gpu/driver/gpu_scene.h"
#include "gpu/text/parameters.h"
#include "kernels/job.h"

/*
 * Count one use of the kernel for the sums of a job: `kernel` is the kernel of the build on
 * entry, and the kernel to launch on return. No call waits for a build. A verification
 * launches both kernels on a row of tiles: it sends `parameters` to the device and
 * overwrites partial sums, so call this while no launch is under way. A kernel that cannot
 * be built is reported by one context_fall_back(). Errors: the device's.
 */
nb_status hot_kernel(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                     const struct gpu_layout *layout,
                     const struct gpu_parameters *parameters, struct gpu_kernel *kernel);

/* 1 while a kernel is being built. The first use after the build loads the kernel. */
int hot_is_busy(const struct gpu *gpu);

#endif
