/*
 * phys.h - the types and macros of physics/, and the dialect of its files.
 *
 * The same text is compiled in four ways: as C11 for the reference kernel and for the SIMD
 * lanes, as CUDA C++ by nvcc and by NVRTC. So it uses only static functions, plain structs
 * passed by value, `real`, and mathematical functions without a suffix, which each compiler
 * resolves by the type of the argument. These are floor, ceil, rint, fabs, copysign and
 * sqrt: they are single instructions, and a call would prevent the vectorisation of a loop.
 *
 * `real` is double, or float under PHYS_SINGLE. Computations that must not lose digits in
 * float use an explicit `double`: anchor.h, patch.h and detector_plane.h do so once per
 * tile or spot, amorphous.h for its table.
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

/* A value f and its derivative df. A function returns both, so that images, tangents and
 * adjoints use one formula; the compiler removes the member that a caller does not use. */
struct phys_dual {
    real f, df;
};

/* PHYS_READ(x) reads x, an element of an array in the global memory of a GPU. The macro
 * tells the compiler where x lies; otherwise each access would test whether its address
 * belongs to the shared memory of a block. */
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

/* If PHYS_FEW_READS is defined, the compiler moves no read from behind PHYS_READ_LATER to
 * before it. Otherwise it reads ahead, and a thread may lack registers for the results. */
#if defined(__CUDACC__) && defined(PHYS_FEW_READS)
#define PHYS_READ_LATER asm volatile("" ::: "memory")
#else
#define PHYS_READ_LATER (void)0
#endif

/* RINT(x) is the whole number nearest to x, halves rounded to even. PHYS_WHOLE(x) is the
 * whole number x as an int. PHYS_QUOTIENT(a, b) is a/b, where b is a name or a product in
 * brackets, and a normal number not above 2^126.
 *
 * On a GPU instructions that round or convert are slow, so float code does both by a sum:
 * the last place of x + 1.5 2^23 is worth 1, so the sum is rounded to a whole number and
 * holds it in its low bits. This needs |x| <= 2^22. GPUs of compute capability below 8.6
 * have half as many units for sums as later ones, so they use the rounding instructions.
 * The quotient errs by at most 2 units in the last place, like a/b under nvcc's option
 * -prec-div=false, which spends three more instructions to allow for any b.
 *
 * PHYS_BY_SUMS is defined where float is computed as on a GPU: 1 selects sums, 0 the
 * instructions. Tests define it on the CPU. */
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
    return bits - 0x4b400000; /* less the bits of PHYS_SHIFT */
}
#else
#define RINT(x)       rint(x)
#define PHYS_WHOLE(x) (int)(x)
#endif

#endif
