/*
 * derivative_kernels.h - the kernels of derivatives of a device. Each is loaded from disk
 * or built by NVRTC when a call first needs it, and stays loaded until the device is
 * closed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_JIT_DERIVATIVE_KERNELS_H
#define NB_COMPILE_JIT_DERIVATIVE_KERNELS_H

#include "base/progress.h"
#include "gpu/driver/gpu_scene.h"
#include "kernels/job.h"

/* The tangents that a kernel is built for: the JACOBIAN_CLASSES of jacobian_block.h, or
 * f_block.h. */
enum gpu_derivatives_class {
    CLASS_FRAME, /* no tangent rotates the crystal or changes it */
    CLASS_TURNED, /* some tangents rotate the crystal */
    CLASS_FEW, /* some rotate the crystal and some change it */
    CLASS_MANY, /* many tangents rotate the crystal; only in float */
    CLASS_F,
    CLASSES
};

/* How many tangents of a launch may rotate orientations. */
int derivative_kernel_rotations(enum gpu_derivatives_class class);

/* The class to use for tangents that fit into `wanted`, one of the first four classes. It
 * is that class or, if NVRTC is missing, CLASS_FEW, which the build has. */
enum gpu_derivatives_class derivative_kernel_class(struct gpu *gpu, struct phys_spec spec,
                                                   enum gpu_derivatives_class wanted,
                                                   int single);

/*
 * Get the kernel of a job's variant. The call waits for a kernel that has to be built, and
 * the handler of the context may stop it (NB_ERR_CANCELLED). A kernel that cannot be built
 * gives NB_ERR_UNSUPPORTED in every call and one context_fall_back().
 */
nb_status derivative_kernel(struct progress *progress, struct gpu_scene *scene,
                            const struct job *job, enum gpu_derivatives_class class,
                            int single, struct gpu_kernel *out);

#endif
