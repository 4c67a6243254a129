/* timing.c - reads a clock that only goes forward. SPDX-License-Identifier: MIT */
#include "nanobrag_program/timing.h"

#include <time.h>

double timing_seconds(void)
{
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
