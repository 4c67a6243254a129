/* thread_order.c - see thread_order.h. SPDX-License-Identifier: MIT */
#include "emulation/thread_order.h"

enum { THREADS = 128 };

enum thread_order thread_order = THREADS_IN_ORDER;

/* steps that this thread of the host has run */
static _Thread_local unsigned steps;

unsigned thread_order_step(void)
{
    return steps++;
}

/* the numbers below 128 in an order that depends on `seed`: odd factors, sums and shifts
 * each map them to themselves one to one */
static int shuffled(unsigned seed, int i)
{
    unsigned x = (unsigned)i;

    for (int round = 0; round < 3; round++) {
        seed = seed * 1664525u + 1013904223u;
        x = (x * (seed >> 8 | 1u) + (seed >> 16)) % THREADS;
        x ^= x >> 3;
    }
    return (int)x;
}

int thread_order_at(unsigned step, int i)
{
    if (i >= THREADS || thread_order == THREADS_IN_ORDER) return i;
    if (thread_order == THREADS_REVERSED) return THREADS - 1 - i;
    return shuffled(2 * step + (thread_order == THREADS_SHUFFLED_AGAIN), i);
}
