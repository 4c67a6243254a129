/*
 * library.h - one simulator, ready to be timed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BENCH_LIBRARY_H
#define NB_BENCH_LIBRARY_H

#include <nanobrag/nanobrag.h>

#include "cases.h"

/* how a case is to run in the library */
struct manner {
    int profile; /* enum nb_profile */
    nb_options options;
    int threads;
    int wall; /* 1: time by the clock on the wall even with one thread */
    const char *isa; /* for NANOBRAG_ISA; NULL: as the environment has it */
    const char *free_names; /* NULL: none */
    const char *hkl; /* file of structure factors */
};

struct library {
    nb_context *ctx;
    nb_hkl *hkl;
    nb_simulator *sim;
    nb_description description;
    double (*clock)(void); /* with one thread that of the processor */
    float *pixels; /* nslow x nfast; NULL: the simulator could not be made */
    char said[NAME]; /* ... and why */
};

/* Make a simulator; returns 1, or 0 with `said`. Close it in either case. */
int library_open(struct library *lib, const struct bench_case *c,
                 const struct manner *manner);
void library_close(struct library *lib);

/* one image at x; returns the seconds it took, 0 on failure */
double library_run(struct library *lib, const double *x);

/* median of `repeat` images or more, after a first that does not count; fewer once
 * `budget` seconds are spent. 0 on failure */
double library_time(struct library *lib, int repeat, double budget);

#endif
