/*
 * hot.h - the hot path: a kernel that is used often gets one from NVRTC, built in the
 * background, that knows its frame (gpu/text/frame_flags.h) and so does not ask. It takes
 * the place of the one built ahead of time in each scene in which it gave the same bits.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_JIT_HOT_H
#define NB_COMPILE_JIT_HOT_H

#include "gpu/gpu.h"
#include "gpu/text/parameters.h"

/*
 * One use of the kernel for the sums of a job: `kernel` is that of the build, and becomes
 * the one to launch. Nothing waits for a build. Where it is compared with the build's, on a
 * row of tiles, `parameters` are sent to the device and partial sums are overwritten; so
 * call it before the launches of a job. What can not be had is a context_fall_back(), once
 * for a kernel. Errors: those of the device.
 */
nb_status hot_kernel(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                     const struct gpu_layout *layout,
                     const struct gpu_parameters *parameters, struct gpu_kernel *kernel);

/* 1 while a kernel is being built; once it is not, the next use loads what was built. */
int hot_is_busy(const struct gpu *gpu);

/* Stop what is being built, and forget all. */
void hot_close(struct gpu *gpu);

#endif
