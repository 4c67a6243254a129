/*
 * loops.c - loops that tests/kernels/vectorised.sh has to accept, and under SPOILED loops
 * that it has to refuse: the test of that script. It is compiled, but never run.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>

#ifdef PHYS_SINGLE
typedef float real;
#else
typedef double real;
#endif

#define INLINE static inline __attribute__((always_inline))

void good(int n, real *restrict a, const real *restrict b);
void bad(int n, real *restrict a, const real *restrict b);
double opaque(double x);

INLINE real square(real x)
{
    return x * x;
}

/* its first operation, and so the position that gcc names, is not in the loop's own lines
 */
void good(int n, real *restrict a, const real *restrict b)
{
#pragma omp simd
    for (int i = 0; i < n; i++) a[i] += square(b[i]);

#pragma omp simd
    for (int i = 0; i < n; i++) {
        const real x = b[i] > 0 ? b[i] : 1;

        a[i] = sqrt(x) + floor(a[i]);
    }
}

#if SPOILED == 1
/* a call of libm in the loop */
void bad(int n, real *restrict a, const real *restrict b)
{
#pragma omp simd
    for (int i = 0; i < n; i++) a[i] = (real)tgamma((double)b[i]);
}
#elif SPOILED == 2
/* a call that hides in an inlined function */
INLINE real hidden(const real *b, int i)
{
    const real x = b[i];

    return square(x) + (real)opaque((double)x);
}

void bad(int n, real *restrict a, const real *restrict b)
{
#pragma omp simd
    for (int i = 0; i < n; i++) a[i] += hidden(b, i);
}
#elif SPOILED == 3
/* a loop of its own in every lane, which ends when it likes */
void bad(int n, real *restrict a, const real *restrict b)
{
#pragma omp simd
    for (int i = 0; i < n; i++) {
        real x = b[i];

        while (x > 1) x = x / 2 - a[i];
        a[i] = x;
    }
}
#endif
