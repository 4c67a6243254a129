/*
 * derivatives.cu - the entry points of the derivative kernels for nvcc and NVRTC: one for
 * each variant of crystal shape and look-up and each class of tangents (JACOBIAN_CLASSES),
 * in double, or in float under PHYS_SINGLE. With GPU_ONLY_SHAPE, GPU_ONLY_LOOKUP and
 * GPU_ONLY_CLASS (JACOBIAN_FRAME and so on, or JACOBIAN_F) defined, only that kernel is
 * compiled.
 *
 * SPDX-License-Identifier: MIT
 */
#if !defined(PHYS_SINGLE)
#define PHYS_FEW_READS /* without it, nodes of an interpolated F were spilled */
#endif
#include "gpu/text/derivatives/f_block.h"
#include "gpu/text/derivatives/jacobian_block.h"

/* Blocks that a multiprocessor shall run at once: with 3 a thread has 168 registers, with 2
 * it has 255. */
#if defined(PHYS_SINGLE)
#define FRAME_BLOCKS  3
#define TURNED_BLOCKS 3
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define FEW_BLOCKS 2 /* with 3, registers were spilled */
#else
#define FEW_BLOCKS 3
#endif
#define MANY_BLOCKS 2
#define F_BLOCKS    3
#else
#define FRAME_BLOCKS  2
#define TURNED_BLOCKS 2
#define FEW_BLOCKS    2
#define F_BLOCKS      2
#endif

#define KERNEL(shape, lookup, name, strain, crystal, turns)                                \
    extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, name##_BLOCKS)             \
        jacobian_##shape##_##lookup##_##name(                                              \
            const struct gpu_derivatives_parameters *parameters)                           \
    {                                                                                      \
        const struct jacobian_spec spec = {{PHYS_##shape, PHYS_##lookup, 0, 0},            \
                                           strain,                                         \
                                           crystal,                                        \
                                           turns};                                         \
        __shared__ union {                                                                 \
            struct {                                                                       \
                struct jacobian_shared shared;                                             \
                struct jacobian_turn rotation[BLOCK_THREADS * (turns > 0 ? turns : 1)];    \
            } samples;                                                                     \
            double stage[STAGE * STAGE_ROW]; /* used when all samples are done */          \
        } room;                                                                            \
        struct jacobian_memory memory;                                                     \
                                                                                           \
        memory.shared = &room.samples.shared;                                              \
        memory.rotation = room.samples.rotation;                                           \
        memory.stage = room.stage;                                                         \
        derivatives_block(spec, parameters, (int)blockIdx.x, memory);                      \
    }

/* The kernels of derivatives by the structure factors, for every variant except those
 * with a constant F. */
#define F_KERNEL(shape, lookup)                                                            \
    extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, F_BLOCKS)                  \
        f_##shape##_##lookup(const struct gpu_f_parameters *parameters)                    \
    {                                                                                      \
        const struct phys_spec spec = {PHYS_##shape, PHYS_##lookup, 0, 0};                 \
        __shared__ struct f_shared shared;                                                 \
        __shared__ struct f_nodes                                                          \
            nodes[PHYS_##lookup == PHYS_TRICUBIC ? BLOCK_THREADS : 1];                     \
        struct f_memory memory;                                                            \
                                                                                           \
        memory.shared = &shared;                                                           \
        memory.nodes = nodes;                                                              \
        f_block(spec, parameters, (int)blockIdx.x, memory);                                \
    }
#define F_CONSTANT(shape)
#define F_NEAREST(shape)                  F_KERNEL(shape, NEAREST)
#define F_TRICUBIC(shape)                 F_KERNEL(shape, TRICUBIC)
#define JACOBIAN_F(KERNEL, shape, lookup) F_##lookup(shape)

#if defined(GPU_ONLY_CLASS)
#define ONLY(class, shape, lookup) class(KERNEL, shape, lookup)
ONLY(GPU_ONLY_CLASS, GPU_ONLY_SHAPE, GPU_ONLY_LOOKUP)
#else
#define VARIANT(shape, lookup)                                                             \
    JACOBIAN_CLASSES(KERNEL, shape, lookup)                                                \
    JACOBIAN_F(KERNEL, shape, lookup)
#include "kernels/variants.def"
#undef VARIANT
#endif
