/*
 * dispatch.c - chooses the instruction set of the kernels: the best that the machine has,
 * or the one that NANOBRAG_ISA names. SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "kernels/density/density_rows.h"
#include "kernels/kernels.h"

/* One instruction set: its tables of kernels (from lanes.c, splat.c and their adjoints),
 * and a function that returns 1 when the machine has it. */
struct level {
    struct kernel_set kernels;
    int (*supported)(void);
};

#define TABLES(set)                                                                        \
    extern const struct kernels lanes_##set##_double, lanes_##set##_single;                \
    extern const struct splat_kernels splat_##set##_double, splat_##set##_single;          \
    extern const struct adjoint_kernels lanes_vjp_##set##_double,                          \
        lanes_vjp_##set##_single;                                                          \
    extern const struct splat_vjp_kernels splat_vjp_##set##_double,                        \
        splat_vjp_##set##_single;                                                          \
    extern const struct density_kernels density_rows_##set##_double;                       \
    extern const struct node_kernels nodes_##set##_double;                                 \
    extern const struct change_kernels changes_##set##_double;                             \
    extern const struct continuous_kernels samples_##set##_double, samples_##set##_single

#define LEVEL(set, supported)                                                              \
    {                                                                                      \
        {                                                                                  \
            &lanes_##set##_double,        &lanes_##set##_single,                           \
            &splat_##set##_double,        &splat_##set##_single,                           \
            &lanes_vjp_##set##_double,    &lanes_vjp_##set##_single,                       \
            &splat_vjp_##set##_double,    &splat_vjp_##set##_single,                       \
            &density_rows_##set##_double, &nodes_##set##_double,                           \
            &changes_##set##_double,      &samples_##set##_double,                         \
            &samples_##set##_single},                                                      \
            supported                                                                      \
    }

TABLES(scalar);

#if defined(__x86_64__)

/* KERNELS_x is defined when the build contains the instruction set x (cmake/isa.cmake). */
#ifdef KERNELS_v2
#define NAME_V2 "v2 "
TABLES(v2);
#else
#define NAME_V2
#endif
#ifdef KERNELS_v3
#define NAME_V3 "v3 "
TABLES(v3);
#else
#define NAME_V3
#endif
#ifdef KERNELS_v4
#define NAME_V4 "v4 "
TABLES(v4);
#else
#define NAME_V4
#endif

/* Each function tests the features of one x86-64 level that the kernels use. It names the
 * features, because not every compiler knows the names of the levels. */
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

/* The instruction sets of this build, the fastest first. */
static const struct level levels[] = {
#ifdef KERNELS_v4
    LEVEL(v4, has_v4),
#endif
#ifdef KERNELS_v3
    LEVEL(v3, has_v3),
#endif
#ifdef KERNELS_v2
    LEVEL(v2, has_v2),
#endif
    LEVEL(scalar, has_v2),
};

const char *kernels_lanes_names(void)
{
    if (has_v4()) return NAME_V2 NAME_V3 NAME_V4 "scalar";
    if (has_v3()) return NAME_V2 NAME_V3 "scalar";
    return has_v2() ? NAME_V2 "scalar" : "none";
}

#else

TABLES(base);

static int always(void)
{
    return 1;
}

static const struct level levels[] = {
    LEVEL(base, always),
    LEVEL(scalar, always),
};

const char *kernels_lanes_names(void)
{
    return "base scalar";
}

#endif

struct kernel_set kernels_lanes(const char *isa)
{
    const struct kernel_set none = {NULL};

    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        const struct level *level = levels + i;

        if (level->supported() && (!*isa || strcmp(isa, level->kernels.precise->name) == 0))
            return level->kernels;
    }
    return none;
}

const struct density_kernels *kernels_density(const char *isa)
{
    return kernels_lanes(isa).density;
}
