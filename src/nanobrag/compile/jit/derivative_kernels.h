/*
 * jacobian_kernels.h - the kernels of derivatives of a device: from NVRTC's cache or NVRTC,
 * when a call first needs them, kept until the device is closed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_JIT_DERIVATIVE_KERNELS_H
#define NB_COMPILE_JIT_DERIVATIVE_KERNELS_H

#include "base/progress.h"
#include "gpu/gpu.h"

/* what a kernel is made for: JACOBIAN_CLASSES of derivatives_block.h, or f_block.h */
enum gpu_derivatives_class {
    CLASS_FRAME, /* no tangent changes the crystal, or turns it */
    CLASS_TURNED, /* some turn it */
    CLASS_FEW, /* and change it */
    CLASS_MANY, /* many turn it; in float alone */
    CLASS_F,
    CLASSES
};

/* tangents of a launch that may turn orientations */
int jacobian_kernel_turns(enum gpu_derivatives_class class);

/*
 * The kernel of a job's variant. The call waits for one that has to be built, in which time
 * the handler of the context may stop it (NB_ERR_CANCELLED). What can not be had is a
 * context_fall_back(), once for a kernel, and NB_ERR_UNSUPPORTED then and from then on.
 */
nb_status jacobian_kernel(struct progress *progress, struct gpu_scene *scene,
                          const struct job *job, enum gpu_derivatives_class class,
                          int single, struct gpu_kernel *out);

/* Forget all. */
void jacobian_kernels_close(struct gpu *gpu);

#endif
