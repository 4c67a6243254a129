/*
 * dispatch.c - which instruction set runs: the best the machine has, or the one that
 * NANOBRAG_ISA names. SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "kernels/kernels.h"

#if defined(__x86_64__)

extern const struct kernels kernels_v2, kernels_v3, kernels_v4;

/* the features of the x86-64 levels that the loops use; the level names themselves are
 * not known to every compiler */
static int has_v2(void)
{
    return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
}

static int has_v3(void)
{
    return has_v2() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
           && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

static int has_v4(void)
{
    return has_v3() && __builtin_cpu_supports("avx512f")
           && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")
           && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
}

static const struct {
    const struct kernels *kernels;
    int (*supported)(void);
} levels[] = {{&kernels_v4, has_v4}, {&kernels_v3, has_v3}, {&kernels_v2, has_v2}};

const char *kernels_lanes_names(void)
{
    if (has_v4()) return "v2 v3 v4";
    return has_v3() ? "v2 v3" : has_v2() ? "v2" : "none";
}

#else

extern const struct kernels kernels_base;

static int always(void)
{
    return 1;
}

static const struct {
    const struct kernels *kernels;
    int (*supported)(void);
} levels[] = {{&kernels_base, always}};

const char *kernels_lanes_names(void)
{
    return "base";
}

#endif

const struct kernels *kernels_lanes(const char *isa)
{
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (levels[i].supported() && (!*isa || strcmp(isa, levels[i].kernels->name) == 0))
            return levels[i].kernels;
    return NULL;
}
