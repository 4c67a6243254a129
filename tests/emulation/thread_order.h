/*
 * thread_order.h - the order in which the threads of a block run in a step: the kernels'
 * text is compiled with it before gpu/text/block.h. Shuffled orders change at every step.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_THREAD_ORDER_H
#define NB_TESTS_THREAD_ORDER_H

enum thread_order {
    THREADS_IN_ORDER,
    THREADS_REVERSED,
    THREADS_SHUFFLED,
    THREADS_SHUFFLED_AGAIN
};

/* It is one for the process; a test sets it between launches. */
extern enum thread_order thread_order;

/* Returns the number of a step, from which a shuffled order follows. */
unsigned thread_order_step(void);

/* Returns the thread that runs as number i, 0 to 127, of a step; 128 after the last. */
int thread_order_at(unsigned step, int i);

/* NOLINTBEGIN(bugprone-macro-parentheses) */
#define EACH_THREAD(t)                                                                     \
    for (int step_ = (int)thread_order_step(), at_ = 0,                                    \
             t = thread_order_at((unsigned)step_, 0);                                      \
         at_ < BLOCK_THREADS; t = thread_order_at((unsigned)step_, ++at_))
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
