/*
 * machine.h - what the machine can do at this moment: its clock, its libm, its peak.
 * Machines are shared and clocks move, so this is measured anew beside every case.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BENCH_MACHINE_H
#define NB_BENCH_MACHINE_H

struct machine {
    double hertz; /* clock of the core: dependent additions of one cycle each, timed */
    double sines; /* calls of libm's sin() a second */
    double peak[2]; /* multiply-adds a second of one core, by enum nb_precision */
    const char *isa; /* the instruction set of the peak */
};

/* takes about half a second, `quick` a tenth */
struct machine machine_measure(int quick);

#endif
