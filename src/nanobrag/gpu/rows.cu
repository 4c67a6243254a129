/*
 * rows.cu - the kernels of derivatives as entry points for nvcc and NVRTC: one for each
 * variant of crystal shape and look-up and each class of tangents (ROWS_CLASSES), in
 * double, or in float under PHYS_SINGLE. With GPU_ONLY_SHAPE, GPU_ONLY_LOOKUP and
 * GPU_ONLY_CLASS (ROWS_FRAME and so on) defined just that one.
 *
 * SPDX-License-Identifier: MIT
 */
#include "gpu/rows_block.h"

/* blocks of a multiprocessor at once: registers for a thread */
#if defined(PHYS_SINGLE)
#define FRAME_CONSTANT  4
#define FRAME_NEAREST   4
#define FRAME_TRICUBIC  3
#define TURNED_CONSTANT 4
#define TURNED_NEAREST  4
#define TURNED_TRICUBIC 3
#define FEW_CONSTANT    3
#define FEW_NEAREST     3
#define FEW_TRICUBIC    3
#define MANY_CONSTANT   2
#define MANY_NEAREST    2
#define MANY_TRICUBIC   2
#else
#define FRAME_CONSTANT  2
#define FRAME_NEAREST   2
#define FRAME_TRICUBIC  2
#define TURNED_CONSTANT 2
#define TURNED_NEAREST  2
#define TURNED_TRICUBIC 2
#define FEW_CONSTANT    2
#define FEW_NEAREST     2
#define FEW_TRICUBIC    2
#endif

#define KERNEL(shape, lookup, name, strain, crystal, turns)                                \
    extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, name##_##lookup)           \
        rows_##shape##_##lookup##_##name(const struct gpu_rows_parameters *parameters)     \
    {                                                                                      \
        const struct rows_spec spec = {{PHYS_##shape, PHYS_##lookup, 0, 0},                \
                                       strain,                                             \
                                       crystal,                                            \
                                       turns};                                             \
        __shared__ struct rows_shared shared;                                              \
        __shared__ union {                                                                 \
            struct rows_turn turn[BLOCK_THREADS * (turns > 0 ? turns : 1)];                \
            double stage[STAGE * STAGE_ROW];                                               \
        } room;                                                                            \
        struct rows_memory memory;                                                         \
                                                                                           \
        memory.shared = &shared;                                                           \
        memory.turn = room.turn;                                                           \
        memory.stage = room.stage;                                                         \
        rows_block(spec, parameters, (int)blockIdx.x, memory);                             \
    }

#if defined(GPU_ONLY_CLASS)
#define ONLY(class, shape, lookup) class(KERNEL, shape, lookup)
ONLY(GPU_ONLY_CLASS, GPU_ONLY_SHAPE, GPU_ONLY_LOOKUP)
#else
#define VARIANT(shape, lookup) ROWS_CLASSES(KERNEL, shape, lookup)
#include "kernels/variants.def"
#undef VARIANT
#endif

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    rows_sum(const struct gpu_sum_parameters *parameters)
{
    rows_sum_block(parameters, (int)blockIdx.x);
}
