/*
 * block.h - how a kernel is written: for a block of threads that work in steps, so that one
 * text is a CUDA kernel and, for tests without a GPU, a C function that runs the threads of
 * each step one after the other.
 *
 * A step is EACH_THREAD (t) { ... }: every thread does it, and all are done before the next
 * begins. Outside of steps everything is the same for all threads. What a thread keeps from
 * one step to the next lies in an array of BLOCK_OWN members, its own at OWN (t); what
 * threads tell each other, in memory that the block shares, written in one step and read in
 * another.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_BLOCK_H
#define NB_GPU_TEXT_BLOCK_H

#include "physics/phys.h"

enum { BLOCK_THREADS = 128 };

/* A loop after BLOCK_ROLLED stays one: its copies would take registers. After BLOCK_BY_TWO
 * it has two, and one computes while the other waits. Numbers read ahead of a loop take
 * registers too: behind BLOCK_READ_AGAIN they are read where they are used. */
#if defined(__CUDACC__)
#define BLOCK_ROLLED     _Pragma("unroll 1")
#define BLOCK_BY_TWO     _Pragma("unroll 2")
#define BLOCK_READ_AGAIN asm volatile("" ::: "memory")
#define EACH_THREAD(t)                                                                     \
    for (int t = (int)threadIdx.x, step_ = 1; step_ != 0;                                  \
         (void)t, step_ = 0, __syncthreads())
enum { BLOCK_OWN = 1 };
#define OWN(t) ((t)*0)
#else
#define BLOCK_ROLLED
#define BLOCK_BY_TWO
#define BLOCK_READ_AGAIN (void)0
/* NOLINTNEXTLINE(bugprone-macro-parentheses) */
#define EACH_THREAD(t)   for (int t = 0; t < BLOCK_THREADS; t++)
enum { BLOCK_OWN = BLOCK_THREADS };
#define OWN(t)           (t)
#endif

#endif
