/*
 * jacobian_kernels.c - see jacobian_kernels.h. It is compiled in double and, under
 * PHYS_SINGLE, in float; KERNELS is the name of the symbol. The memory that the threads of
 * a block share is filled with NaN before they write it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "emulation/jacobian_kernels.h"

#include <string.h>

#include "gpu/text/derivatives/f_block.h"
#include "gpu/text/derivatives/jacobian_block.h"
#include "gpu/text/derivatives/sum_block.h"

/* as the entry points of gpu/text/derivatives/derivatives.cu */
#define KERNEL(shape, lookup, name, strain, crystal, turns)                                \
    static void                                                                            \
        jacobian_##shape##_##lookup##_##name(const struct gpu_derivatives_parameters *p,   \
                                             int number)                                   \
    {                                                                                      \
        const struct jacobian_spec spec = {{PHYS_##shape, PHYS_##lookup, 0, 0},            \
                                           strain,                                         \
                                           crystal,                                        \
                                           turns};                                         \
        union {                                                                            \
            struct {                                                                       \
                struct jacobian_shared shared;                                             \
                struct jacobian_turn                                                       \
                    rotation[BLOCK_THREADS * ((turns) > 0 ? (turns) : 1)];                 \
            } samples;                                                                     \
            double stage[STAGE * STAGE_ROW]; /* only when all samples are done */          \
        } room;                                                                            \
        const struct jacobian_memory memory = {&room.samples.shared,                       \
                                               room.samples.rotation, room.stage};         \
                                                                                           \
        memset(&room, 0xff, sizeof room);                                                  \
        derivatives_block(spec, p, number, memory);                                        \
    }

/* all classes of two variants, one of the others; they take long to compile */
#define EVERY(KERNEL)                                                                      \
    JACOBIAN_CLASSES(KERNEL, SQUARE, NEAREST)                                              \
    JACOBIAN_CLASSES(KERNEL, GAUSS, TRICUBIC)                                              \
    JACOBIAN_FEW(KERNEL, SQUARE, CONSTANT)                                                 \
    JACOBIAN_FEW(KERNEL, SQUARE, TRICUBIC)                                                 \
    JACOBIAN_FEW(KERNEL, ROUND, CONSTANT)                                                  \
    JACOBIAN_FEW(KERNEL, ROUND, NEAREST)                                                   \
    JACOBIAN_FEW(KERNEL, ROUND, TRICUBIC)                                                  \
    JACOBIAN_FEW(KERNEL, GAUSS, CONSTANT)                                                  \
    JACOBIAN_FEW(KERNEL, GAUSS, NEAREST)                                                   \
    JACOBIAN_FEW(KERNEL, TOPHAT, CONSTANT)                                                 \
    JACOBIAN_FEW(KERNEL, TOPHAT, NEAREST)                                                  \
    JACOBIAN_FEW(KERNEL, TOPHAT, TRICUBIC)

EVERY(KERNEL)

/* and of structure factors */
#define EVERY_F(KERNEL)                                                                    \
    KERNEL(SQUARE, NEAREST)                                                                \
    KERNEL(GAUSS, NEAREST)                                                                 \
    KERNEL(SQUARE, TRICUBIC)                                                               \
    KERNEL(ROUND, TRICUBIC)

#define F_KERNEL(shape, lookup)                                                            \
    static void f_##shape##_##lookup(const void *p, int number)                            \
    {                                                                                      \
        const struct phys_spec spec = {PHYS_##shape, PHYS_##lookup, 0, 0};                 \
        struct f_shared shared;                                                            \
        struct f_nodes nodes[PHYS_##lookup == PHYS_TRICUBIC ? BLOCK_THREADS : 1];          \
        const struct f_memory memory = {&shared, nodes};                                   \
                                                                                           \
        memset(&shared, 0xff, sizeof shared);                                              \
        memset(nodes, 0xff, sizeof nodes);                                                 \
        f_block(spec, p, number, memory);                                                  \
    }

EVERY_F(F_KERNEL)

#define F_ENTRY(shape, lookup) [PHYS_##shape][PHYS_##lookup] = f_##shape##_##lookup,
#define ENTRY(shape, lookup, name, strain, crystal, turns)                                 \
    [PHYS_##                                                                               \
        shape][PHYS_##lookup][JACOBIAN_OF_##name] = {jacobian_##shape##_##lookup##_##name, \
                                                     strain, crystal, turns},

const struct jacobian_kernels KERNELS = {
    {EVERY(ENTRY)},
    {EVERY_F(F_ENTRY)},
    sum_block,
    jacobian_serve,
};
