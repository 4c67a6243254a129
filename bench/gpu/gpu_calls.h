/*
 * gpu_calls.h - what calls other than an image cost on a CUDA device.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BENCH_GPU_CALLS_H
#define NB_BENCH_GPU_CALLS_H

#include "cases.h"

/* Print the head of the table, and two lines for a case: medians of `repeat` calls or more,
 * in double and in float. Returns 0 when a call failed or was not the device's. */
void gpu_calls_head(void);
int gpu_calls_measure(const struct bench_case *of, int repeat);

#endif
