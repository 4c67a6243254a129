/*
 * rows_kernels.c - see rows_kernels.h. Compiled in double and, under PHYS_SINGLE, in float;
 * KERNELS is the symbol. What the threads of a block share is no number before they write
 * it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "support/rows_kernels.h"

#include <string.h>

#include "gpu/f_block.h"
#include "gpu/rows_block.h"
#include "gpu/sum_block.h"

/* as the entry points of gpu/rows.cu */
#define KERNEL(shape, lookup, name, strain, crystal, turns)                                \
    static void rows_##shape##_##lookup##_##name(const struct gpu_rows_parameters *p,      \
                                                 int number)                               \
    {                                                                                      \
        const struct rows_spec spec = {{PHYS_##shape, PHYS_##lookup, 0, 0},                \
                                       strain,                                             \
                                       crystal,                                            \
                                       turns};                                             \
        struct rows_shared shared;                                                         \
        union {                                                                            \
            struct rows_turn turn[BLOCK_THREADS * ((turns) > 0 ? (turns) : 1)];            \
            double stage[STAGE * STAGE_ROW];                                               \
        } room;                                                                            \
        const struct rows_memory memory = {&shared, room.turn, room.stage};                \
                                                                                           \
        memset(&shared, 0xff, sizeof shared);                                              \
        memset(&room, 0xff, sizeof room);                                                  \
        rows_block(spec, p, number, memory);                                               \
    }

/* all classes of two variants, one of the others; they take long to compile */
#define EVERY(KERNEL)                                                                      \
    ROWS_CLASSES(KERNEL, SQUARE, NEAREST)                                                  \
    ROWS_CLASSES(KERNEL, GAUSS, TRICUBIC)                                                  \
    ROWS_FEW(KERNEL, SQUARE, CONSTANT)                                                     \
    ROWS_FEW(KERNEL, SQUARE, TRICUBIC)                                                     \
    ROWS_FEW(KERNEL, ROUND, CONSTANT)                                                      \
    ROWS_FEW(KERNEL, ROUND, NEAREST)                                                       \
    ROWS_FEW(KERNEL, ROUND, TRICUBIC)                                                      \
    ROWS_FEW(KERNEL, GAUSS, CONSTANT)                                                      \
    ROWS_FEW(KERNEL, GAUSS, NEAREST)                                                       \
    ROWS_FEW(KERNEL, TOPHAT, CONSTANT)                                                     \
    ROWS_FEW(KERNEL, TOPHAT, NEAREST)                                                      \
    ROWS_FEW(KERNEL, TOPHAT, TRICUBIC)

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
        struct tile_shared shared;                                                         \
                                                                                           \
        memset(&shared, 0xff, sizeof shared);                                              \
        f_block(spec, p, number, &shared);                                                 \
    }

EVERY_F(F_KERNEL)

#define F_ENTRY(shape, lookup) [PHYS_##shape][PHYS_##lookup] = f_##shape##_##lookup,
#define ENTRY(shape, lookup, name, strain, crystal, turns)                                 \
    [PHYS_##shape][PHYS_##lookup][ROWS_OF_##name] = {rows_##shape##_##lookup##_##name,     \
                                                     strain, crystal, turns},

const struct rows_kernels KERNELS = {
    {EVERY(ENTRY)},
    {EVERY_F(F_ENTRY)},
    sum_block,
    rows_serve,
};
