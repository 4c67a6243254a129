/*
 * peak_loop.c - the roof of the pixel loops: as many multiply-adds a second as a core can
 * do. Twelve sums that do not wait for each other cover the latency of the pipelines, and
 * with two constants they fit in 16 registers. Compiled once per instruction set and
 * precision, like kernels/lanes/lanes.c; vector types of gcc and clang instead of a loop
 * over lanes, because an array of sums would not stay in registers.
 *
 * SPDX-License-Identifier: MIT
 */
#include "peak.h"

#ifdef PHYS_SINGLE
typedef float real;
#else
typedef double real;
#endif

#if defined(__AVX512F__)
enum { VECTOR_BYTES = 64 };
#elif defined(__AVX__)
enum { VECTOR_BYTES = 32 };
#else
enum { VECTOR_BYTES = 16 };
#endif

typedef real vector __attribute__((vector_size(VECTOR_BYTES)));

enum { LANES = VECTOR_BYTES / sizeof(real), SUMS = 12 };

peak_loop KERNELS;
double KERNELS(long turns, const double in[2], double *out)
{
    const vector zero = {0}, factor = zero + (real)in[0], term = zero + (real)in[1];
    vector a = zero, b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5;
    vector g = a + 6, h = a + 7, i = a + 8, j = a + 9, k = a + 10, l = a + 11;

    for (long rotation = 0; rotation < turns; rotation++) {
        a = a * factor + term, b = b * factor + term, c = c * factor + term;
        d = d * factor + term, e = e * factor + term, f = f * factor + term;
        g = g * factor + term, h = h * factor + term, i = i * factor + term;
        j = j * factor + term, k = k * factor + term, l = l * factor + term;
    }
    a = a + b + c + d + e + f + g + h + i + j + k + l;
    *out = (double)a[0];
    return (double)turns * SUMS * LANES;
}
