/*
 * machine.c - see machine.h. Compiled at -O2 in every build, so that the yardstick, libm's
 * sin() in a plain loop, means the same everywhere. SPDX-License-Identifier: MIT
 */
#include "machine.h"

#include <math.h>
#include <stdint.h>
#include <time.h>

#include "peak.h"

double machine_seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* the compiler may neither merge the additions nor know their terms */
#define ADD   (x += y, hide(&x));
#define ADD16 ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD

static inline void hide(uint64_t *x)
{
    __asm__ volatile("" : "+r"(*x));
}

/* the least of several short runs: whatever else runs only makes them longer */
static double measure_hertz(void)
{
    enum { RUNS = 9, TURNS = 100000, CHAIN = 64 };
    double best = 0;

    for (int run = 0; run < RUNS; run++) {
        uint64_t x = 1, y = (uint64_t)run;
        const double start = machine_seconds();
        double rate;

        hide(&y);
        for (int i = 0; i < TURNS; i++) {
            ADD16 ADD16 ADD16 ADD16
        }
        rate = (double)TURNS * CHAIN / (machine_seconds() - start);
        if (rate > best) best = rate;
    }
    return best;
}

static double measure_sines(int count)
{
    volatile double kept;
    double sum = 0;
    const double start = machine_seconds();

    for (int i = 0; i < count; i++) sum += sin(1e-3 * i);
    kept = sum;
    (void)kept;
    return count / (machine_seconds() - start);
}

struct machine machine_measure(int quick)
{
    struct machine m;

    m.hertz = measure_hertz();
    m.sines = measure_sines(quick ? 2000000 : 20000000);
    m.isa = peak_measure(m.peak);
    return m;
}
