/*
 * machine.c - see machine.h. Compiled at -O2 in every build, so that the yardstick, libm's
 * sin() in a plain loop, means the same everywhere. SPDX-License-Identifier: MIT
 */
#include "measure/machine.h"

#include <math.h>
#include <stdint.h>

#include "measure/peak.h"
#include "timing.h"

/* the compiler may neither merge the additions nor know their terms */
#define HIDE(x) __asm__ volatile("" : "+r"(x));
#define ADD                                                                                \
    x += y;                                                                                \
    HIDE(x)
#define ADD16 ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD

/* the least of several short runs: whatever else runs only makes them longer */
static double measure_hertz(void)
{
    enum { RUNS = 9, TURNS = 100000, CHAIN = 64 };
    double best = 0;

    for (int run = 0; run < RUNS; run++) {
        uint64_t x = 1, y = (uint64_t)run;
        const double start = timing_process_seconds();
        double rate;

        HIDE(y)
        for (int i = 0; i < TURNS; i++) {
            ADD16 ADD16 ADD16 ADD16
        }
        rate = (double)TURNS * CHAIN / (timing_process_seconds() - start);
        if (rate > best) best = rate;
    }
    return best;
}

/* the fastest of several parts of the loop, as with the other rates */
static double measure_sines(int count)
{
    enum { PARTS = 5 };
    volatile double kept;
    double sum = 0, best = 0;

    for (int part = 0; part < PARTS; part++) {
        const int n = count / PARTS, first = part * n;
        const double start = timing_process_seconds();
        double rate;

        for (int i = first; i < first + n; i++) sum += sin(1e-3 * i);
        rate = n / (timing_process_seconds() - start);
        if (rate > best) best = rate;
    }
    kept = sum;
    (void)kept;
    return best;
}

struct machine machine_measure(int quick)
{
    struct machine m;

    m.hertz = measure_hertz();
    m.sines = measure_sines(quick ? 2000000 : 20000000);
    m.isa = peak_measure(m.peak);
    return m;
}
