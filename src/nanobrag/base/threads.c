/* threads.c - counts and indices of threads. SPDX-License-Identifier: MIT */
#include "base/threads.h"

#ifdef _OPENMP
#include <omp.h>

int threads_count(int asked, int environment)
{
    if (asked > 0) return asked;
    return environment > 0 ? environment : omp_get_max_threads();
}

int threads_index(void)
{
    return omp_get_thread_num();
}

#else

int threads_count(int asked, int environment)
{
    (void)asked;
    (void)environment;
    return 1;
}

int threads_index(void)
{
    return 0;
}

#endif
