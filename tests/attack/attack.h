/*
 * attack.h - random trials within a time. Each trial has a seed of its own, made from that
 * of the day, so that the one line printed for a failed trial repeats it.
 *
 * NANOBRAG_ATTACK_SECONDS=s replaces the time of each case, NANOBRAG_ATTACK_SEED=n the
 * date, and NANOBRAG_ATTACK_TRIAL=i runs one trial alone.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_ATTACK_H
#define NB_TESTS_ATTACK_H

#include <stddef.h>
#include <stdint.h>

#include "support/tap.h"

struct attack {
    uint64_t seed, trial; /* number of the trial, from 1 */
    uint64_t state; /* of the random numbers of this trial */
    double begin, seconds;
    int alone; /* 1: one trial was asked for */
    long tried, failed;
};

/* Run files_main(), and remember how the program was called. */
int attack_main(int argc, char **argv, const struct tap_case *cases, size_t n);

/* Begin the trials of a case, which may take so many seconds. */
struct attack attack_begin(double seconds);

/* Begin the next trial; returns 0 when the time is over, after one trial at least. */
int attack_next(struct attack *attack);

/* Returns the condition. If it is false, the trial has failed, and the sentence and the
 * line that repeats the trial are printed. */
int attack_expect(struct attack *attack, int condition, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Check that no trial failed. `what` names what was tried, in the plural. */
void attack_end(const struct attack *attack, const char *what);

/* Return random numbers: 64 bits; 0 to n - 1; uniform in [low, high]; uniform in the
 * logarithm; 1 once in n times. */
uint64_t attack_bits(struct attack *attack);
int attack_below(struct attack *attack, int n);
double attack_between(struct attack *attack, double low, double high);
double attack_decades(struct attack *attack, double low, double high);
int attack_once_in(struct attack *attack, int n);

#endif
