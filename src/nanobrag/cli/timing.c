/* timing.c - see timing.h. SPDX-License-Identifier: MIT */
#include "cli/timing.h"

#include <stdlib.h>
#include <time.h>

static double read_clock(clockid_t clock)
{
    struct timespec now = {0, 0};
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double timing_seconds(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double timing_process_seconds(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

double timing_thread_seconds(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double timing_median(double *values, int n)
{
    if (n == 0) return 0;
    qsort(values, (size_t)n, sizeof *values, ascending);
    return n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}
