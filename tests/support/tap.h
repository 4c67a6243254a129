/*
 * tap.h - the main function of every test program: it runs named cases, whose checks print
 * the measured value and the allowed one.
 *
 * prog --list prints the case names; prog CASE... runs those, prog alone runs all. Exit
 * status: 0 all passed, 1 some failed, 2 wrong usage, 77 every case was skipped.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_TAP_H
#define NB_TESTS_TAP_H

#include <stddef.h>

enum { TAP_PASS = 0, TAP_SKIP = 77 };

struct tap_case {
    const char *name;
    int (*run)(void); /* returns TAP_PASS or TAP_SKIP; anything else fails the case */
};

/* Run the cases that the command line asks for. A case that made no check fails. */
int tap_main(int argc, char **argv, const struct tap_case *cases, size_t n);

/* Print "ok" or "not ok" and the sentence; a false condition fails the running case.
 * Returns the condition. */
int tap_check(int condition, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Check that |measured - expected| <= allowed, which a NaN never satisfies, and print all
 * three and where the check stands, for scripts/tolerances. Returns 1 if it passed. */
#define tap_close(...) tap_close_at(__FILE__, __LINE__, "allowed", __VA_ARGS__)
int tap_close_at(const char *file, int line, const char *kind, const char *name,
                 double measured, double expected, double allowed);

/* Do the same with a bound that the documentation promises, which may stand far above what
 * is measured. */
#define tap_promised(...) tap_close_at(__FILE__, __LINE__, "promised", __VA_ARGS__)

/* Return the name of the running case. */
const char *tap_running(void);

/* Print a line of information. */
void tap_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print why the case cannot run on this machine, and return TAP_SKIP. */
int tap_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
