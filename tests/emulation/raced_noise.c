/*
 * raced_noise.c - the kernels of noise.cu with a thread of the host for each of a block,
 * and steps with mistakes and without: see raced_kernels.h. It is compiled for the thread
 * sanitizer.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "emulation/block_threads.h" /* before block.h */
#include "emulation/emulated.h"
#include "emulation/raced_kernels.h"
#include "gpu/text/count_block.h"
#include "gpu/text/derivatives/f_sums.h"

const struct emulated_kernels emulated_rounding; /* none */

static void count_thread(const void *parameters, int number)
{
    static struct count_shared shared;

    EACH_THREAD(t)
    if (t == 0) memset(&shared, 0xff, sizeof shared);
    count_block(parameters, number, &shared);
}

void emulated_count(const void *parameters, int number)
{
    block_run(count_thread, parameters, number);
}

static void brightest_thread(const void *parameters, int number)
{
    static struct count_shared shared;

    EACH_THREAD(t)
    if (t == 0) memset(&shared, 0xff, sizeof shared);
    brightest_block(parameters, number, &shared);
}

void emulated_brightest(const void *parameters, int number)
{
    block_run(brightest_thread, parameters, number);
}

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

/* ---- sums of warps ---- */

/* Twice, each thread gives to one place, and every eighth to nodes around one corner. */
static void gifts_thread(const void *count, int number)
{
    static struct f_shared shared;
    static struct f_nodes nodes[BLOCK_THREADS];
    const struct f_memory memory = {&shared, nodes};
    const struct phys_vec3 x = phys_vec3((real)2.25, (real)2.5, (real)2.75);
    struct gpu_f_parameters p;

    memset(&p, 0, sizeof p);
    p.count = *(long long *const *)count;
    p.unit = 1e-6;
    EACH_THREAD(t)
    {
        struct phys_box *box = &shared.tile.view.box;

        shared.gift[t].count = 0;
        if (t < BLOCK_WARPS) shared.to_places[t] = shared.to_nodes[t] = 0;
        if (t == 0) {
            memset(box, 0, sizeof *box);
            box->last = phys_vec3(5, 5, 5);
            box->stride_h = 16;
            box->stride_k = 4;
        }
    }
    (void)number;
    for (int time = 0; time < 2; time++) {
        EACH_IN_WARP(t)
        {
            struct f_waiting own = {1, 0, t};

            give_waiting(&p, 0, &own, &shared);
            if (t % 8 == 0) (void)give_nodes(&shared.tile.view.box, x, 1, t, memory);
        }
        add_nodes(&p, memory);
        add_gifts(&p, &shared);
    }
}

void raced_gifts(long long *count)
{
    block_run(gifts_thread, &count, 0);
}
