/*
 * raced_kernels.c - see raced_kernels.h. It is compiled for the thread sanitizer, in double
 * and, under PHYS_SINGLE, in float; KERNELS and DERIVATIVES are the names of its symbols.
 * The memory of a block is filled with NaN before its threads write it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "emulation/raced_kernels.h"

#include <string.h>

#include "emulation/block_threads.h" /* before block.h */
#include "emulation/emulated.h"
#include "gpu/text/derivatives/f_block.h"
#include "gpu/text/derivatives/jacobian_block.h"
#include "gpu/text/derivatives/sum_block.h"
#include "gpu/text/finish_block.h"
#include "gpu/text/image_block.h"
#include "gpu/text/loss_block.h"

/* a first step, in which one thread fills the block's memory */
#define FILL(memory)                                                                       \
    EACH_THREAD(t)                                                                         \
    if (t == 0) memset(&(memory), 0xff, sizeof(memory))

/* an entry whose threads each run NAME_thread() */
#define ENTRY(name)                                                                        \
    static void name(const void *parameters, int number)                                   \
    {                                                                                      \
        block_run(name##_thread, parameters, number);                                      \
    }

#define VARIANT(shape, lookup)                                                             \
    static void image_##shape##_##lookup##_thread(const void *parameters, int number)      \
    {                                                                                      \
        const struct phys_spec spec = {PHYS_##shape, PHYS_##lookup, 0, 0};                 \
        static struct tile_shared shared;                                                  \
                                                                                           \
        FILL(shared);                                                                      \
        image_block(spec, 0, parameters, number, &shared);                                 \
    }                                                                                      \
    ENTRY(image_##shape##_##lookup)
#include "kernels/variants.def"
#undef VARIANT

static void finish_thread(const void *parameters, int number)
{
    static struct {
        struct tile_shared tile;
        double photons[BLOCK_THREADS];
    } shared;

    FILL(shared);
    finish_block(parameters, number, &shared.tile, shared.photons);
}
ENTRY(finish)

static void loss_thread(const void *parameters, int number)
{
    static struct {
        struct tile_shared tile;
        struct loss_shared sums;
    } shared;

    FILL(shared);
    loss_block(parameters, number, &shared.tile, &shared.sums);
}
ENTRY(loss)

static void sum_thread(const void *parameters, int number)
{
    sum_block(parameters, number);
}
ENTRY(sum)

const struct emulated_kernels KERNELS = {
    {
#define VARIANT(shape, lookup) [PHYS_##shape][PHYS_##lookup] = image_##shape##_##lookup,
#include "kernels/variants.def"
#undef VARIANT
    },
    finish,
    loss,
    sum,
};

/* ---- derivatives ---- */

/* as in jacobian_kernels.c */
#define JACOBIAN(shape, lookup, name, strain, crystal, turns)                              \
    static void jacobian_##shape##_##lookup##_##name##_thread(const void *parameters,      \
                                                              int number)                  \
    {                                                                                      \
        const struct jacobian_spec spec = {{PHYS_##shape, PHYS_##lookup, 0, 0},            \
                                           strain,                                         \
                                           crystal,                                        \
                                           turns};                                         \
        static union {                                                                     \
            struct {                                                                       \
                struct jacobian_shared shared;                                             \
                struct jacobian_turn rotation[BLOCK_THREADS * (turns)];                    \
            } samples;                                                                     \
            double stage[STAGE * STAGE_ROW];                                               \
        } room;                                                                            \
        const struct jacobian_memory memory = {&room.samples.shared,                       \
                                               room.samples.rotation, room.stage};         \
                                                                                           \
        FILL(room);                                                                        \
        derivatives_block(spec, parameters, number, memory);                               \
    }                                                                                      \
    static void                                                                            \
        jacobian_##shape##_##lookup##_##name(const struct gpu_derivatives_parameters *p,   \
                                             int number)                                   \
    {                                                                                      \
        block_run(jacobian_##shape##_##lookup##_##name##_thread, p, number);               \
    }
#define LISTED(shape, lookup, name, strain, crystal, turns)                                \
    [PHYS_##                                                                               \
        shape][PHYS_##lookup][JACOBIAN_OF_##name] = {jacobian_##shape##_##lookup##_##name, \
                                                     strain, crystal, turns},

#define EVERY(KERNEL)                                                                      \
    JACOBIAN_FEW(KERNEL, SQUARE, NEAREST)                                                  \
    JACOBIAN_MANY(KERNEL, SQUARE, NEAREST)                                                 \
    JACOBIAN_FEW(KERNEL, SQUARE, TRICUBIC)                                                 \
    JACOBIAN_FEW(KERNEL, ROUND, NEAREST)                                                   \
    JACOBIAN_FEW(KERNEL, GAUSS, NEAREST)                                                   \
    JACOBIAN_FEW(KERNEL, TOPHAT, NEAREST)

EVERY(JACOBIAN)

#define EVERY_F(KERNEL)                                                                    \
    KERNEL(SQUARE, NEAREST)                                                                \
    KERNEL(SQUARE, TRICUBIC)                                                               \
    KERNEL(ROUND, TRICUBIC)                                                                \
    KERNEL(TOPHAT, NEAREST)

#define FACTORS(shape, lookup)                                                             \
    static void f_##shape##_##lookup##_thread(const void *parameters, int number)          \
    {                                                                                      \
        const struct phys_spec spec = {PHYS_##shape, PHYS_##lookup, 0, 0};                 \
        static struct {                                                                    \
            struct f_shared block;                                                         \
            struct f_nodes nodes[BLOCK_THREADS];                                           \
        } shared;                                                                          \
        const struct f_memory memory = {&shared.block, shared.nodes};                      \
                                                                                           \
        FILL(shared);                                                                      \
        f_block(spec, parameters, number, memory);                                         \
    }                                                                                      \
    ENTRY(f_##shape##_##lookup)

EVERY_F(FACTORS)

#define F_ENTRY(shape, lookup) [PHYS_##shape][PHYS_##lookup] = f_##shape##_##lookup,

static void sum_of_jacobian(const struct gpu_sum_parameters *p, int number)
{
    block_run(sum_thread, p, number);
}

const struct jacobian_kernels DERIVATIVES = {
    {EVERY(LISTED)},
    {EVERY_F(F_ENTRY)},
    sum_of_jacobian,
    jacobian_serve,
};
