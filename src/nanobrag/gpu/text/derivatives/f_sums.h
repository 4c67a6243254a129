/*
 * f_sums.h - sums of the cotangents of structure factors. Samples of many blocks add to the
 * same place, in an order that changes from run to run. The sum has the same bits in any
 * order, because numbers are added as whole multiples of a unit. The threads of a warp
 * mostly add to the same place at the same time, which memory would do one after the other.
 * So they first add up among themselves, in a fixed order.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_DERIVATIVES_F_SUMS_H
#define NB_GPU_TEXT_DERIVATIVES_F_SUMS_H

#include "gpu/text/derivatives/derivatives_parameters.h"
#include "gpu/text/tile_block.h"

/* BLOCK_ADD adds to a number that all blocks share. BLOCK_MARK sets bits of a number that
 * one block shares. */
#if defined(__CUDACC__)
#define BLOCK_ADD(to, n)                                                                   \
    (void)atomicAdd((unsigned long long *)(to), (unsigned long long)(n))
#define BLOCK_MARK(to, bits) (void)atomicOr(to, bits)
#else
#if !defined(BLOCK_ADD) /* a test defines it, to count calls */
#define BLOCK_ADD(to, n) (void)__atomic_fetch_add(to, n, __ATOMIC_RELAXED)
#endif
#define BLOCK_MARK(to, bits) (void)__atomic_fetch_or(to, bits, __ATOMIC_RELAXED)
#endif

/* The number that a thread gives to one place, in units of gpu_f_parameters; 0: nothing. */
struct __attribute__((aligned(16))) f_gift {
    long long count;
    int place;
};

/* The numbers that a thread gives to the 64 nodes between which F is interpolated. A node
 * receives `value` times its weights along h, k and l. */
struct f_nodes {
    double value;
    real weight[3][4];
    int corner; /* place of the first node */
};

/* The memory that the threads of a block share. */
struct f_shared {
    struct tile_shared tile;
    struct f_gift gift[BLOCK_THREADS];
    /* bits of the threads of each warp that have given something since the last sum */
    unsigned to_places[BLOCK_WARPS], to_nodes[BLOCK_WARPS];
};

struct f_memory {
    struct f_shared *shared;
    struct f_nodes *nodes; /* (BLOCK_THREADS); used if F is interpolated */
};

/* ---- numbers that a thread gives ---- */

/* The sum of a thread's consecutive samples at one place: neighbours in the list of pairs
 * often use the same reflection. */
struct f_waiting {
    double sum;
    int place;
    int t; /* the thread */
};

PHYS_FN long long f_count(const struct gpu_f_parameters *p, double value)
{
    return (long long)rint(value / p->unit);
}

/* Gives the sum of a thread's samples, and begins a new sum at `place`. */
PHYS_FN void give_waiting(const struct gpu_f_parameters *p, int place,
                          struct f_waiting *own, struct f_shared *shared)
{
    const int t = own->t;

    if (own->sum != 0) {
        shared->gift[t].count = f_count(p, own->sum);
        shared->gift[t].place = own->place;
        BLOCK_MARK(shared->to_places + t / WARP_THREADS, 1u << t % WARP_THREADS);
    }
    own->place = place;
    own->sum = 0;
}

/* Adds a sample to the sum of a thread. Call it at most once for a thread between two calls
 * of add_gifts(). */
PHYS_FN void give_place(const struct gpu_f_parameters *p, int place, double value,
                        struct f_waiting *own, struct f_shared *shared)
{
    if (place != own->place) give_waiting(p, place, own, shared);
    own->sum += value;
}

PHYS_FN void keep_weights(const struct phys_cubic *c, real weight[4])
{
    weight[0] = c->w0;
    weight[1] = c->w1;
    weight[2] = c->w2;
    weight[3] = c->w3;
}

/* Gives a sample of thread t to the nodes between which F is interpolated. Call it at most
 * once for a thread between two calls of add_nodes(). Returns 0 if F is not interpolated at
 * x. */
PHYS_FN int give_nodes(const struct phys_box *box, struct phys_vec3 x, double value, int t,
                       struct f_memory memory)
{
    const struct phys_nodes at = phys_nodes(box, x);
    struct f_nodes *nodes = memory.nodes + t;

    if (at.corner < 0) return 0;
    nodes->value = value;
    nodes->corner = at.corner;
    keep_weights(&at.h, nodes->weight[0]);
    keep_weights(&at.k, nodes->weight[1]);
    keep_weights(&at.l, nodes->weight[2]);
    BLOCK_MARK(memory.shared->to_nodes + t / WARP_THREADS, 1u << t % WARP_THREADS);
    return 1;
}

/* ---- sums over a warp ---- */

/* Adds the second gift to the first and empties the second, if both go to the same place or
 * the first is empty (count 0). */
PHYS_FN void join_gifts(struct f_gift *first, struct f_gift *second)
{
    const long long more = second->count;

    if (more == 0 || (first->count != 0 && first->place != second->place)) return;
    first->count += more;
    first->place = second->place;
    second->count = 0;
}

/* Adds up the gifts of each warp in pairs of threads. Gifts that alternate between several
 * places may remain apart. */
PHYS_FN void pair_gifts(struct f_shared *shared)
{
    BLOCK_ROLLED
    for (int apart = 1; apart < WARP_THREADS; apart *= 2) {
        EACH_IN_WARP(t)
        if (shared->to_places[t / WARP_THREADS] && !(t & apart))
            join_gifts(shared->gift + t, shared->gift + t + apart);
    }
}

/* Adds the remaining gift of thread t to its place. */
PHYS_FN void add_gift(const struct gpu_f_parameters *p, int t, struct f_shared *shared)
{
    struct f_gift *gift = shared->gift + t;

    if (gift->count != 0) BLOCK_ADD(p->count + gift->place, gift->count);
    gift->count = 0;
    if (t % WARP_THREADS == 0) shared->to_places[t / WARP_THREADS] = 0;
}

/* Adds up the gifts of each warp, then adds the results to their places. */
PHYS_FN void add_gifts(const struct gpu_f_parameters *p, struct f_shared *shared)
{
    pair_gifts(shared);
    EACH_IN_WARP(t) add_gift(p, t, shared);
}

/* Adds the gifts of a warp's threads to node `node` of the 64, in the order of the threads.
 * `nodes` belongs to the first thread; bit i of `bits` is 1 if thread i gives something. */
PHYS_FN void add_node(const struct gpu_f_parameters *p, const struct phys_box *box,
                      const struct f_nodes *nodes, unsigned bits, int node)
{
    const int h = node / 16, k = node / 4 % 4, l = node % 4;
    const int from = h * box->stride_h + k * box->stride_k + l;
    double sum = 0;
    int corner = 0;

    BLOCK_ROLLED
    for (; bits; bits >>= 1, nodes++) {
        if (!(bits & 1)) continue;
        if (nodes->corner != corner) {
            if (sum != 0) BLOCK_ADD(p->count + corner + from, f_count(p, sum));
            corner = nodes->corner;
            sum = 0;
        }
        sum += nodes->value
               * (double)(nodes->weight[0][h] * nodes->weight[1][k] * nodes->weight[2][l]);
    }
    if (sum != 0) BLOCK_ADD(p->count + corner + from, f_count(p, sum));
}

/* Adds the gifts of each warp to the nodes; each thread adds up two of the 64 nodes. Call
 * add_gifts(), or begin another step, before a thread gives again. */
PHYS_FN void add_nodes(const struct gpu_f_parameters *p, struct f_memory memory)
{
    struct f_shared *shared = memory.shared;

    EACH_IN_WARP(t)
    {
        const int lane = t % WARP_THREADS;
        const struct f_nodes *nodes = memory.nodes + t - lane;
        const unsigned bits = shared->to_nodes[t / WARP_THREADS];

        BLOCK_ROLLED
        for (int node = lane; bits && node < 64; node += WARP_THREADS)
            add_node(p, &shared->tile.view.box, nodes, bits, node);
    }
    EACH_ALONE(t)
    if (t % WARP_THREADS == 0) shared->to_nodes[t / WARP_THREADS] = 0;
}

#endif
