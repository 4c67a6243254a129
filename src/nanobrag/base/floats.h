/*
 * floats.h - the floating-point environment of the library: rounding to nearest, subnormal
 * numbers kept, no traps. A caller, or the threads of a pool that it shares, may run with
 * other settings (rounding mode, flush-to-zero, traps). Therefore every public call that
 * computes, and the body of every parallel loop, begins with STANDARD_FLOATS. It holds to
 * the end of its block, on every way out, and then restores the caller's settings.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FLOATS_H
#define NB_FLOATS_H

#include <fenv.h>

struct floats {
    fenv_t callers; /* set only if it is not the standard one */
    int is_foreign;
};

/* Returns 1 if it is certain that nothing needs to be changed, within a few cycles. */
static inline int floats_are_standard(void)
{
#if defined(__x86_64__)
    const unsigned control = 0xFFC0; /* of MXCSR: all bits but the exception flags */
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
