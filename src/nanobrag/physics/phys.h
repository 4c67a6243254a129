/*
 * phys.h - the dialect every file in physics/ is written in.
 *
 * One text is compiled four ways: C11 (reference and SIMD lanes), CUDA C++ by nvcc, and
 * NVRTC. The shared subset is: static functions, plain structs by value, `real`, and
 * unsuffixed math names, which resolve by argument type in all four. Of the math names
 * only floor, ceil, rint, fabs, copysign and sqrt are used: instructions, where others
 * would keep a loop from being vectorised. (loss.h takes log too, once a pixel.)
 *
 * `real` is double, or float under PHYS_SINGLE. What must not lose digits in float is
 * written with `double` in so many words: anchor.h, patch.h and detector_plane.h, once per
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

#ifdef PHYS_SINGLE
typedef float real;
#else
typedef double real;
#endif

#define PHYS_PI ((real)3.14159265358979323846)

/* a value and its slope: a primitive returns both, so that the tangent and the adjoint are
 * read off the same line; what a caller does not use costs nothing */
struct phys_dual {
    real f, df;
};

#endif
