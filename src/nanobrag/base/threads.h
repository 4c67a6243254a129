/*
 * threads.h - the number of threads of a call, and the index of a thread, with or without
 * OpenMP.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BASE_THREADS_H
#define NB_BASE_THREADS_H

/* Returns `asked` or, if that is 0, `environment` or, if both are 0, the number of cores
 * that the process may use. Without OpenMP returns 1. */
int threads_count(int asked, int environment);

/* Returns the index of the calling thread in a parallel loop, from 0 on. */
int threads_index(void);

#endif
