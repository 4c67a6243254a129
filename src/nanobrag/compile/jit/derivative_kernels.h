/*
 * derivative_kernels.h - a device's kernels for derivatives. Each is loaded from disk or
 * built by NVRTC when a call first needs it, and stays loaded until the device is closed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_JIT_DERIVATIVE_KERNELS_H
#define NB_COMPILE_JIT_DERIVATIVE_KERNELS_H

#include "base/progress.h"
#include "gpu/driver/gpu_scene.h"
#include "kernels/job.h"

/* The tangents for which a kernel is built (JACOBIAN_CLASSES in jacobian_block.h). CLASS_F
 * computes cotangents of structure factors (f_block.h). */
enum gpu_derivatives_class {
    CLASS_FRAME, /* no tangent rotates orientations or changes cell or shape */
    CLASS_TURNED, /* up to 4 tangents rotate orientations */
    CLASS_FEW, /* as CLASS_TURNED, and tangents may change cell and shape */
    CLASS_MANY, /* as CLASS_FEW, but up to 8 rotate; only in float */
    CLASS_F,
    CLASSES
};

/* Returns how many tangents of a launch may rotate orientations. */
int derivative_kernel_rotations(enum gpu_derivatives_class class);

/* Returns the class to use for tangents that fit into `wanted`, one of the first four
 * classes. The class is `wanted` or, if NVRTC is missing, CLASS_FEW, which is compiled with
 * the library. */
enum gpu_derivatives_class derivative_kernel_class(struct gpu *gpu, struct phys_spec spec,
                                                   enum gpu_derivatives_class wanted,
                                                   int single);

/* Get the kernel of a job's variant. If it has to be built, the call waits for it, and the
 * progress handler may stop this (NB_ERR_CANCELLED). If it cannot be built, every call
 * returns NB_ERR_UNSUPPORTED; only the first also calls context_fall_back(). */
nb_status derivative_kernel(struct progress *progress, struct gpu_scene *scene,
                            const struct job *job, enum gpu_derivatives_class class,
                            int single, struct gpu_kernel *out);

#endif
