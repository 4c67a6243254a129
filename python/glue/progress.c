/* progress.c - see glue.h. SPDX-License-Identifier: MIT */
#include <time.h>

#include "glue.h"

/* in the module that cffi writes; runs Python, and signal handlers with it */
extern int nbpy_ask(void *handle, double fraction);

int nbpy_progress(void *user, double fraction)
{
    const double interval = 0.02; /* seconds; Ctrl-C is to be answered within 50 ms */
    nbpy_watch *const watch = user;
    struct timespec time;
    double now;

    if (watch->stop) return 1;
    clock_gettime(CLOCK_MONOTONIC, &time);
    now = (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
    if (now < watch->next) return 0;
    watch->next = now + interval;
    return nbpy_ask(watch->handle, fraction);
}
