/*
 * timing.h - clocks and the median, for the program and for nanobrag_bench.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_TIMING_H
#define NB_CLI_TIMING_H

/* The time of a clock that only goes forward, s. */
double timing_seconds(void);

/* The processor time of this process or of this thread, s: what other programs do to a
 * shared machine does not count. */
double timing_process_seconds(void);
double timing_thread_seconds(void);

/* The median of n numbers, which are sorted; 0 if there are none. */
double timing_median(double *values, int n);

#endif
