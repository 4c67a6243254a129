/*
 * floats.h - the floating-point environment of the library: rounding to nearest, subnormal
 * numbers kept, no traps. The threads of the caller and of OpenMP may have another
 * environment. Therefore every public call that computes, and the body of every parallel
 * loop, begins with STANDARD_FLOATS. When the block of that macro is left, in whatever way,
 * the caller's environment is restored.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FLOATS_H
#define NB_FLOATS_H

#include <fenv.h>

struct floats {
    fenv_t callers; /* the caller's environment, if is_foreign is 1 */
    int is_foreign;
};

/* Returns 1 if the environment is certainly the library's. The test takes a few cycles. */
static inline int floats_are_standard(void)
{
#if defined(__x86_64__)
    const unsigned control = 0xFFC0; /* all bits of MXCSR but the exception flags */
    unsigned short x87;

    __asm__ volatile("fnstcw %0" : "=m"(x87));
    return (__builtin_ia32_stmxcsr() & control) == 0x1F80 && x87 == 0x37F;
#else
    return 0;
#endif
}

static inline void floats_begin(struct floats *floats)
{
    floats->is_foreign = !floats_are_standard();
    if (!floats->is_foreign) return;
    (void)fegetenv(&floats->callers);
    (void)fesetenv(FE_DFL_ENV);
}

static inline void floats_end(const struct floats *floats)
{
    if (floats->is_foreign) (void)fesetenv(&floats->callers);
}

#define STANDARD_FLOATS                                                                    \
    struct floats callers_floats __attribute__((cleanup(floats_end)));                     \
    floats_begin(&callers_floats)

#endif
