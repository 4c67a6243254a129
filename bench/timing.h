/*
 * timing.h - clocks and the median.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BENCH_TIMING_H
#define NB_BENCH_TIMING_H

/* Return the time of a clock that only goes forward, and the processor time of this
 * process, s. What other programs do to a shared machine does not count in the second. */
double timing_seconds(void);
double timing_process_seconds(void);

/* Returns the median of n numbers, which are sorted; 0 if there are none. */
double timing_median(double *values, int n);

#endif
