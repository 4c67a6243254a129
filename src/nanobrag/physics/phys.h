/*
 * phys.h - the subset of C and CUDA C++ in which every file of physics/ is written.
 *
 * One text is compiled in four ways: C11 for the reference and for the SIMD lanes, CUDA
 * C++ by nvcc, and NVRTC. They share static functions, plain structs passed by value,
 * `real`, and math names without a suffix, which each compiler resolves by the type of
 * the argument. Only floor, ceil, rint, fabs, copysign and sqrt are used: they are single
 * instructions, where other functions would prevent the vectorisation of a loop.
 *
 * `real` is double, or float under PHYS_SINGLE. What must not lose digits in float is
 * written with an explicit `double`: anchor.h, patch.h and detector_plane.h, once per
 * tile or spot, and the table of amorphous.h.
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
 * use the same formula; a compiler removes what a caller does not use. */
struct phys_dual {
    real f, df;
};

#endif
