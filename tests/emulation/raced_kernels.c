/*
 * raced_kernels.c - see raced_kernels.h. It is compiled for the thread sanitizer, in
 * double. The memory of a block is filled with NaN before its threads write it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "emulation/raced_kernels.h"

#include <string.h>

#include "emulation/block_threads.h" /* before block.h */
#include "emulation/emulated.h"
#include "gpu/text/count_block.h"
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

#define IMAGE(shape, lookup)                                                               \
    static void image_##shape##_##lookup##_thread(const void *parameters, int number)      \
    {                                                                                      \
        const struct phys_spec spec = {PHYS_##shape, PHYS_##lookup, 0, 0};                 \
        static struct tile_shared shared;                                                  \
                                                                                           \
        FILL(shared);                                                                      \
        image_block(spec, 0, parameters, number, &shared);                                 \
    }                                                                                      \
    ENTRY(image_##shape##_##lookup)

IMAGE(SQUARE, NEAREST)
IMAGE(GAUSS, NEAREST)

static void finish_thread(const void *parameters, int number)
{
    static struct tile_shared shared;
    static double photons[BLOCK_THREADS];

    FILL(shared);
    FILL(photons);
    finish_block(parameters, number, &shared, photons);
}
ENTRY(finish)

static void loss_thread(const void *parameters, int number)
{
    static struct tile_shared shared;
    static struct loss_shared sums;

    FILL(shared);
    FILL(sums);
    loss_block(parameters, number, &shared, &sums);
}
ENTRY(loss)

static void sum_thread(const void *parameters, int number)
{
    sum_block(parameters, number);
}
ENTRY(sum)

const struct emulated_kernels emulated_double = {
    {[PHYS_SQUARE][PHYS_NEAREST] = image_SQUARE_NEAREST,
     [PHYS_GAUSS][PHYS_NEAREST] = image_GAUSS_NEAREST},
    finish,
    loss,
    sum,
};
const struct emulated_kernels emulated_single, emulated_rounding; /* none */

/* ---- noise ---- */

static void count_thread(const void *parameters, int number)
{
    static struct count_shared shared;

    FILL(shared);
    count_block(parameters, number, &shared);
}

void emulated_count(const void *parameters, int number)
{
    block_run(count_thread, parameters, number);
}

static void brightest_thread(const void *parameters, int number)
{
    static struct count_shared shared;

    FILL(shared);
    brightest_block(parameters, number, &shared);
}

void emulated_brightest(const void *parameters, int number)
{
    block_run(brightest_thread, parameters, number);
}

/* ---- derivatives ---- */

/* as in jacobian_kernels.c */
#define JACOBIAN(shape, lookup, name, strain, crystal, turns)                              \
    static void jacobian_##shape##_##lookup##_thread(const void *parameters, int number)   \
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
    static void jacobian_##shape##_##lookup(const struct gpu_derivatives_parameters *p,    \
                                            int number)                                    \
    {                                                                                      \
        block_run(jacobian_##shape##_##lookup##_thread, p, number);                        \
    }
#define LISTED(shape, lookup, name, strain, crystal, turns)                                \
    [PHYS_##shape][PHYS_##lookup][JACOBIAN_OF_##name] = {jacobian_##shape##_##lookup,      \
                                                         strain, crystal, turns},

JACOBIAN_FEW(JACOBIAN, SQUARE, NEAREST)
JACOBIAN_FEW(JACOBIAN, SQUARE, TRICUBIC)

#define FACTORS(shape, lookup)                                                             \
    static void f_##shape##_##lookup##_thread(const void *parameters, int number)          \
    {                                                                                      \
        const struct phys_spec spec = {PHYS_##shape, PHYS_##lookup, 0, 0};                 \
        static struct f_shared shared;                                                     \
        static struct f_nodes nodes[BLOCK_THREADS];                                        \
        const struct f_memory memory = {&shared, nodes};                                   \
                                                                                           \
        FILL(shared);                                                                      \
        FILL(nodes);                                                                       \
        f_block(spec, parameters, number, memory);                                         \
    }                                                                                      \
    ENTRY(f_##shape##_##lookup)

FACTORS(SQUARE, NEAREST)
FACTORS(SQUARE, TRICUBIC)

static void sum_of_jacobian(const struct gpu_sum_parameters *p, int number)
{
    block_run(sum_thread, p, number);
}

const struct jacobian_kernels raced_jacobian = {
    {JACOBIAN_FEW(LISTED, SQUARE, NEAREST) JACOBIAN_FEW(LISTED, SQUARE, TRICUBIC)},
    {[PHYS_SQUARE][PHYS_NEAREST] = f_SQUARE_NEAREST,
     [PHYS_SQUARE][PHYS_TRICUBIC] = f_SQUARE_TRICUBIC},
    sum_of_jacobian,
    jacobian_serve,
};

/* ---- a mistake, and none ---- */

static int seen[BLOCK_THREADS], given[BLOCK_THREADS];

/* *block: with a step of the block between */
static void warp_thread(const void *block, int number)
{
    (void)number;
    EACH_IN_WARP(t) given[t] = t;
    if (*(const int *)block) {
        EACH_THREAD(t)(void) t;
    }
    EACH_IN_WARP(t) seen[t] = given[(t + WARP_THREADS) % BLOCK_THREADS];
}

int raced_wrong_warp(void)
{
    const int block = 0;

    block_run(warp_thread, &block, 0);
    return seen[0];
}

int raced_right_warp(void)
{
    const int block = 1;

    block_run(warp_thread, &block, 0);
    return seen[0];
}
