/*
 * kernels.cu - the entry points of the image kernels for nvcc and NVRTC: one for each
 * variant of crystal shape and look-up, in double, or in float under PHYS_SINGLE. With
 * GPU_ONLY_SHAPE and GPU_ONLY_LOOKUP defined, for example as SQUARE and NEAREST, only that
 * variant is compiled. It may then rely on GPU_FRAME_FLAGS, bits of enum gpu_frame_flags.
 *
 * SPDX-License-Identifier: MIT
 */
#include "gpu/text/derivatives/sum_block.h"
#include "gpu/text/finish_block.h"
#include "gpu/text/image_block.h"
#include "gpu/text/loss_block.h"

/* Blocks that a multiprocessor shall run at once: with 4 a thread has 128 registers, with 3
 * it has 168. */
#if defined(PHYS_SINGLE)
#define BLOCKS_CONSTANT 4
#define BLOCKS_NEAREST  4
#define BLOCKS_TRICUBIC 3
#define FINISH_BLOCKS   3
#else
#define BLOCKS_CONSTANT 2
#define BLOCKS_NEAREST  2
#define BLOCKS_TRICUBIC 2
#define FINISH_BLOCKS   2
#endif

#if !defined(GPU_FRAME_FLAGS)
#define GPU_FRAME_FLAGS 0
#endif

#define KERNEL(shape, lookup)                                                              \
    extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS_##lookup)           \
        image_##shape##_##lookup(const struct gpu_parameters *parameters)                  \
    {                                                                                      \
        const struct phys_spec spec = {PHYS_##shape, PHYS_##lookup, 0, 0};                 \
        __shared__ struct tile_shared shared;                                              \
                                                                                           \
        image_block(spec, GPU_FRAME_FLAGS, parameters + blockIdx.y, (int)blockIdx.x,       \
                    &shared);                                                              \
    }

#if defined(GPU_ONLY_SHAPE)
/* This macro expands its arguments before they become part of a name. */
#define ONLY(shape, lookup) KERNEL(shape, lookup)
ONLY(GPU_ONLY_SHAPE, GPU_ONLY_LOOKUP)
#else
#define VARIANT(shape, lookup) KERNEL(shape, lookup)
#include "kernels/variants.def"
#undef VARIANT

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, FINISH_BLOCKS)
    finish(const struct gpu_parameters *parameters)
{
    __shared__ struct tile_shared shared;
    __shared__ double photons[BLOCK_THREADS];

    finish_block(parameters + blockIdx.y, (int)blockIdx.x, &shared, photons);
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, FINISH_BLOCKS)
    finish_loss(const struct gpu_loss_parameters *parameters)
{
    __shared__ struct tile_shared shared;
    __shared__ struct loss_shared sums;

    loss_block(parameters, (int)blockIdx.x, &shared, &sums);
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    sum(const struct gpu_sum_parameters *parameters)
{
    sum_block(parameters, (int)blockIdx.x);
}
#endif
