/*
 * peak_block.h - finds the photons of the brightest pixel of an image, over all its blocks.
 * The largest number is the same in any order.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_PEAK_BLOCK_H
#define NB_GPU_TEXT_PEAK_BLOCK_H

#include "gpu/text/block.h"

/* BLOCK_MAX raises a number, which all blocks of a launch share, to at least n. */
#if defined(__CUDACC__)
#define BLOCK_MAX(to, n) (void)atomicMax(to, n)
#else
/* NOLINTNEXTLINE(readability-non-const-parameter): it is written */
static inline void block_max(unsigned long long *to, unsigned long long n)
{
    unsigned long long now = __atomic_load_n(to, __ATOMIC_RELAXED);

    while (now < n
           && !__atomic_compare_exchange_n(to, &now, n, 1, __ATOMIC_RELAXED,
                                           __ATOMIC_RELAXED)) {
    }
}
#define BLOCK_MAX(to, n) block_max(to, n)
#endif

enum { PEAK_SEARCHERS = 16 }; /* threads that search the photons of all threads */

/* Returns the largest of photons[t], photons[t + step], ... below index n, or 0 if none is
 * above 0. NaNs are skipped. */
PHYS_FN double largest_photons(const double *photons, int t, int step, int n)
{
    double most = 0;

    for (int i = t; i < n; i += step) most = photons[i] > most ? photons[i] : most;
    return most;
}

/* Replaces the first PEAK_SEARCHERS photons by the maxima of as many groups of threads,
 * which together are all threads, in one step. */
PHYS_FN void find_largest(double photons[BLOCK_THREADS])
{
    EACH_THREAD(t)
    if (t < PEAK_SEARCHERS)
        photons[t] = largest_photons(photons, t, PEAK_SEARCHERS, BLOCK_THREADS);
}

/* Raises *peak to the largest of the photons of all threads. The next step may not write
 * `photons`, which may still be read. */
PHYS_FN void raise_peak(double photons[BLOCK_THREADS], unsigned long long *peak)
{
    find_largest(photons);
    EACH_ALONE(t)
    if (t == 0) {
        union {
            double photons;
            unsigned long long bits;
        } most;

        most.photons = largest_photons(photons, 0, 1, PEAK_SEARCHERS);
        if (most.photons > 0) BLOCK_MAX(peak, most.bits);
    }
}

#endif
