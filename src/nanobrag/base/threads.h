/*
 * threads.h - how many threads a call uses.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BASE_THREADS_H
#define NB_BASE_THREADS_H

/* What the caller asked for, else the environment, else every core; 1 without OpenMP. */
int threads_count(int asked, int environment);

/* The number of this thread among those of a parallel loop, from 0. */
int threads_own(void);

#endif
