/*
 * peak.h - multiply-adds a second of one core.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BENCH_PEAK_H
#define NB_BENCH_PEAK_H

/* do `turns` rounds; returns how many multiply-adds that were. `in` holds a factor and a
 * term that the compiler does not know; what comes out must be used */
typedef double peak_loop(long turns, const double in[2], double *out);

/* Multiply-adds a second with the best instruction set of the machine, in double and in
 * single precision; returns its name. */
const char *peak_measure(double rate[2]);

#endif
