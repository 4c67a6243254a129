/*
 * phys.h - the subset of C and CUDA C++ that every file of physics/ uses.
 *
 * One text is compiled in four ways: C11 for the reference and for the SIMD lanes, CUDA
 * C++ by nvcc, and NVRTC. They share static functions, plain structs passed by value,
 * `real`, and math names without a suffix, which each compiler resolves by the type of
 * the argument. Only floor, ceil, rint, fabs, copysign and sqrt are used: they are single
 * instructions, where other functions would prevent the vectorisation of a loop.
 *
 * `real` is double, or float under PHYS_SINGLE. Computations that must not lose digits in
 * float use an explicit `double`: anchor.h, patch.h and detector_plane.h, once per tile or
 * spot, and the table of amorphous.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_PHYS_H
#define NB_PHYSICS_PHYS_H

#if defined(__CUDACC__)
#define PHYS_FN static __host__ __device__ __forceinline__
#else
#define PHYS_FN static inline __attribute__((always_inline, unused))
#include <string.h>
#include <tgmath.h>
#endif

#if defined(__cplusplus)
#define PHYS_ASSERT static_assert
#else
#define PHYS_ASSERT _Static_assert
#endif

#ifdef PHYS_SINGLE
typedef float real;
#else
typedef double real;
#endif

#define PHYS_PI ((real)3.14159265358979323846)

/* A value and its derivative. A primitive returns both, so that tangents and adjoints
 * use the same formula; a compiler removes the one that a caller does not use. */
struct phys_dual {
    real f, df;
};

/* PHYS_READ(x) is x, an element of an array in the global memory of the device. So a GPU
 * need not find out at each access whether the address belongs to a block's shared
 * memory. */
#if defined(__CUDA_ARCH__)
#define PHYS_READ(x) phys_read(&(x))

PHYS_FN real phys_read(const real *x)
{
    __builtin_assume(__isGlobal(x));
    return *x;
}
#else
#define PHYS_READ(x) (x)
#endif

/* With PHYS_FEW_READS defined, no read after PHYS_READ_LATER is moved before it: a GPU
 * reads ahead, and a thread may not have registers for all of it. */
#if defined(__CUDACC__) && defined(PHYS_FEW_READS)
#define PHYS_READ_LATER asm volatile("" ::: "memory")
#else
#define PHYS_READ_LATER (void)0
#endif

/* RINT(x) is the whole number nearest to x, halves to even ones; PHYS_WHOLE(x) is x,
 * a whole number, as an integer; PHYS_QUOTIENT(a, b) is a/b, where b is a product in
 * brackets or a name, a normal number and not above 2^126.
 *
 * On a GPU instructions that round or convert are slow, so float does both by a sum: the
 * last place of x + 1.5 2^23 is 1, so that the sum is rounded to a whole number and holds
 * it in its low bits. This needs |x| <= 2^22. Devices before 8.6 have half as many lanes
 * for sums, so that sums are the bottleneck; these devices use the instructions that round.
 * The quotient has at most 2 units in the last place of error, as a/b has with
 * -prec-div=false, which takes three instructions more to allow for any b. PHYS_BY_SUMS is
 * defined where float is computed as on a GPU, 1 by sums or 0; tests define it on the
 * CPU. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 860
#define PHYS_BY_SUMS 0
#elif defined(__CUDACC__)
#define PHYS_BY_SUMS 1
#endif

#if defined(PHYS_SINGLE) && defined(PHYS_BY_SUMS)
#define PHYS_QUOTIENT(a, b) phys_quotient(a, b)

PHYS_FN float phys_quotient(float a, float b)
{
#if defined(__CUDA_ARCH__)
    float inverse;

    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(b));
    return a * inverse;
#else
    return a / b;
#endif
}
#else
#define PHYS_QUOTIENT(a, b) a / b /* NOLINT(bugprone-macro-parentheses) */
#endif

#if defined(PHYS_SINGLE) && defined(PHYS_BY_SUMS) && PHYS_BY_SUMS
#define PHYS_SHIFT    12582912.0f
#define RINT(x)       (((x) + PHYS_SHIFT) - PHYS_SHIFT)
#define PHYS_WHOLE(x) phys_whole(x)

PHYS_FN int phys_whole(float x)
{
    const float sum = x + PHYS_SHIFT;
    int bits;

    memcpy(&bits, &sum, sizeof bits);
    return bits - 0x4b400000; /* the bits of PHYS_SHIFT */
}
#else
#define RINT(x)       rint(x)
#define PHYS_WHOLE(x) (int)(x)
#endif

#endif
