/* peak.c - see peak.h. SPDX-License-Identifier: MIT */
#include "measure/peak.h"

#include <nanobrag/simulator.h>

#include "timing.h"

/* an instruction set: its loops by enum nb_precision */
struct set {
    const char *name;
    peak_loop *loop[2];
};

#define SET(name)                                                                          \
    {                                                                                      \
#name,                                                                             \
        {                                                                                  \
            peak_loop_##name##_double, peak_loop_##name##_single                           \
        }                                                                                  \
    }

#if defined(__x86_64__)

extern peak_loop peak_loop_v2_double, peak_loop_v2_single;
extern peak_loop peak_loop_v3_double, peak_loop_v3_single;
extern peak_loop peak_loop_v4_double, peak_loop_v4_single;

static const struct set v2 = SET(v2), v3 = SET(v3), v4 = SET(v4);

static const struct set *best(void)
{
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return &v2;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")
                   && __builtin_cpu_supports("avx512vl")
               ? &v4
               : &v3;
}

#else

extern peak_loop peak_loop_base_double, peak_loop_base_single;

static const struct set base = SET(base);

static const struct set *best(void)
{
    return &base;
}

#endif

/* the most of several short runs: whatever else runs only makes them longer */
static double rate_of(peak_loop *loop)
{
    enum { RUNS = 7, TURNS = 100000 };
    volatile double unknown = 0.5;
    const double in[2] = {unknown, unknown};
    double most = 0, out;

    for (int run = 0; run < RUNS; run++) {
        const double start = timing_process_seconds(), done = loop(TURNS, in, &out);
        const double rate = done / (timing_process_seconds() - start);

        unknown = out;
        if (rate > most) most = rate;
    }
    return most;
}

const char *peak_measure(double rate[2])
{
    const struct set *set = best();

    for (int precision = NB_PRECISION_DOUBLE; precision <= NB_PRECISION_SINGLE; precision++)
        rate[precision] = rate_of(set->loop[precision]);
    return set->name;
}
