/*
 * tap.h - the frame of every test program: named cases, checks that print what was
 * measured against what is allowed.
 *
 * prog --list prints the case names; prog CASE... runs those, prog alone runs all.
 * Exit status: 0 all passed, 1 some failed, 2 wrong usage, 77 every case was skipped.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_TAP_H
#define NB_TESTS_TAP_H

#include <stddef.h>

enum { TAP_PASS = 0, TAP_SKIP = 77 };

struct tap_case {
    const char *name;
    int (*run)(void); /* TAP_PASS or TAP_SKIP; anything else fails the case */
};

/* Runs what the command line asks for. A case that made no check fails. */
int tap_main(int argc, char **argv, const struct tap_case *cases, size_t n);

/* Prints "ok" or "not ok" and the sentence; a false condition fails the running case.
 * Returns the condition. */
int tap_check(int condition, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Passes when |measured - expected| <= allowed (NaN never does) and prints all three.
 * Returns whether it passed. */
int tap_close(const char *name, double measured, double expected, double allowed);

/* A line of information; checks nothing. */
void tap_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints why the case cannot run here and returns TAP_SKIP. */
int tap_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
