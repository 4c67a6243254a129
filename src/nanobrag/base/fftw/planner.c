/*
 * planner.c - the lock of FFTW's planner, which is not thread safe.
 *
 * The lock is a spin lock, because C11 can initialise that statically without a thread
 * library. A thread holds it for milliseconds if plans are estimated, and up to FFTW's time
 * limit if they are measured.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/fftw/planner.h"

int planner_fast_size(int n)
{
    static const int prime[] = {2, 3, 5, 7};

    for (;; n++) {
        int rest = n;

        for (int i = 0; i < 4; i++)
            while (rest % prime[i] == 0) rest /= prime[i];
        if (rest == 1) return n;
    }
}

#ifdef NANOBRAG_FFTW

#include <fftw3.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_flag planner = ATOMIC_FLAG_INIT;

void planner_lock(void)
{
    while (atomic_flag_test_and_set_explicit(&planner, memory_order_acquire))
        (void)sched_yield();
}

void planner_unlock(void)
{
    atomic_flag_clear_explicit(&planner, memory_order_release);
}

char *planner_begin(void)
{
    char *wisdom;

    planner_lock();
    wisdom = fftw_export_wisdom_to_string();
    fftw_forget_wisdom();
    return wisdom;
}

void planner_end(char *wisdom)
{
    fftw_forget_wisdom();
    if (wisdom) (void)fftw_import_wisdom_from_string(wisdom);
    free(wisdom);
    planner_unlock();
}

#endif
