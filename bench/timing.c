/* timing.c - see timing.h. SPDX-License-Identifier: MIT */
#include "timing.h"

#include <stdlib.h>

#include "base/clock.h"

double timing_seconds(void)
{
    return clock_seconds(CLOCK_MONOTONIC);
}

double timing_process_seconds(void)
{
    return clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
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
