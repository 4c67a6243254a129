/*
 * block.h - how a kernel is written: for a block of threads that work in steps. The same
 * text is a CUDA kernel and, for checks of headers, C that runs the threads of each step
 * one after the other.
 *
 * A step is EACH_THREAD (t) { ... }. Every thread t executes it, and all threads have
 * finished before the next step begins. After EACH_IN_WARP (t) only the threads of the same
 * warp (32 consecutive threads) have finished, after EACH_ALONE (t) only the thread itself.
 * Other threads may then still be in that step: they may not yet touch memory that a thread
 * has written there, or write memory that it has read there. They may do so after a later
 * step that waits for both. Outside of steps every value is the same for all threads. A
 * thread saves values from one step to the next in an array of BLOCK_OWN elements, in its
 * element OWN (t). Threads exchange values through memory that the block shares, which one
 * step writes and another reads.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_BLOCK_H
#define NB_GPU_TEXT_BLOCK_H

#include "physics/phys.h"

enum { BLOCK_THREADS = 128, WARP_THREADS = 32, BLOCK_WARPS = BLOCK_THREADS / WARP_THREADS };

/* BLOCK_ROLLED prevents the unrolling of the next loop, whose copies would take
 * registers. BLOCK_BY_TWO unrolls it by two, so that one copy computes while the other
 * waits. BLOCK_READ_AGAIN makes the compiler load values where they are used, because
 * values loaded before a loop take registers too. */
#if defined(__CUDACC__)
#define BLOCK_ROLLED     _Pragma("unroll 1")
#define BLOCK_BY_TWO     _Pragma("unroll 2")
#define BLOCK_READ_AGAIN asm volatile("" ::: "memory")
#define EACH_THREAD(t)                                                                     \
    for (int t = (int)threadIdx.x, step_ = 1; step_ != 0;                                  \
         (void)t, step_ = 0, __syncthreads())
#define EACH_IN_WARP(t)                                                                    \
    for (int t = (int)threadIdx.x, step_ = 1; step_ != 0; (void)t, step_ = 0, __syncwarp())
#define EACH_ALONE(t)                                                                      \
    for (int t = (int)threadIdx.x, step_ = 1; step_ != 0; (void)t, step_ = 0)
enum { BLOCK_OWN = 1 };
#define OWN(t) ((t)*0)
#else
#define BLOCK_ROLLED
#define BLOCK_BY_TWO
#define BLOCK_READ_AGAIN (void)0
/* NOLINTNEXTLINE(bugprone-macro-parentheses) */
#define EACH_THREAD(t)   for (int t = 0; t < BLOCK_THREADS; t++)
#define EACH_IN_WARP(t)  EACH_THREAD(t)
#define EACH_ALONE(t)    EACH_THREAD(t)
enum { BLOCK_OWN = BLOCK_THREADS };
#define OWN(t)           (t)
#endif

#endif
