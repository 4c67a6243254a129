/*
 * physics.cu - the pixel physics as GPU kernels, one per shape and lookup: shows that
 * physics/ stays inside what nvcc and NVRTC take. Nothing runs it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "physics/pixel.h"

#define KERNEL(name, shape, lookup)                                                        \
    extern "C" __global__ void name(struct phys_frame frame, real *image)                  \
    {                                                                                      \
        const struct phys_spec spec = {shape, lookup};                                     \
        const struct phys_view view = phys_view(&frame);                                   \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;                               \
                                                                                           \
        if (i >= frame.nfast * frame.nslow) return;                                        \
        image[i] = phys_finish(&frame, phys_pixel(spec, &frame, &view, i / frame.nfast,    \
                                                  i % frame.nfast));                       \
    }

KERNEL(square_constant, PHYS_SQUARE, PHYS_CONSTANT)
KERNEL(square_nearest, PHYS_SQUARE, PHYS_NEAREST)
KERNEL(square_tricubic, PHYS_SQUARE, PHYS_TRICUBIC)
KERNEL(round_nearest, PHYS_ROUND, PHYS_NEAREST)
KERNEL(gauss_nearest, PHYS_GAUSS, PHYS_NEAREST)
KERNEL(tophat_nearest, PHYS_TOPHAT, PHYS_NEAREST)
