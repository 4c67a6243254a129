/*
 * block_threads.h - the threads of a block as threads of the host, with a barrier where a
 * step ends: of the block after EACH_THREAD, of the 32 threads of a warp after
 * EACH_IN_WARP, none after EACH_ALONE. The kernels' text is compiled with it before
 * gpu/text/block.h, for the thread sanitizer, which reports what one thread writes and
 * another reads or writes without a barrier between them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_BLOCK_THREADS_H
#define NB_TESTS_BLOCK_THREADS_H

/* What every thread of a block runs. */
typedef void block_body(const void *parameters, int number);

/* Run a block; its threads have ended when this returns. */
void block_run(block_body *body, const void *parameters, int number);

/* The step of every block, and of every warp, counted from 1, whose barrier the sanitizer
 * does not see: a mistake, to see that it is found. 0: none. */
extern int block_lost_step, block_lost_warp_step;

/* Return the steps of EACH_THREAD, and of EACH_IN_WARP, in the last block. */
int block_steps(void);
int block_warp_steps(void);

/* Returns the reports of the sanitizer since the last call. */
int block_races(void);

/* For the macros. */
int block_thread(void);
void block_wait(void);
void block_wait_warp(void);

/* NOLINTBEGIN(bugprone-macro-parentheses) */
#define EACH_THREAD(t)                                                                     \
    for (int t = block_thread(), step_ = 1; step_ != 0; (void)t, step_ = 0, block_wait())
#define EACH_IN_WARP(t)                                                                    \
    for (int t = block_thread(), step_ = 1; step_ != 0;                                    \
         (void)t, step_ = 0, block_wait_warp())
#define EACH_ALONE(t)                                                                      \
    for (int t = block_thread(), step_ = 1; step_ != 0; (void)t, step_ = 0)
/* NOLINTEND(bugprone-macro-parentheses) */
enum { BLOCK_OWN = 1 };
#define OWN(t) ((t)*0)

#endif
