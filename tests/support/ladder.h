/*
 * ladder.h - the derivative of a function by extrapolated central differences, with an
 * error bar: steps h0 2^-j, Romberg columns, the entry of the smallest bar. A central
 * difference uses both sides of x, so a kink at x itself passes unseen: keep such points
 * `limit` away.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_LADDER_H
#define NB_TESTS_LADDER_H

typedef long double ladder_function(const void *context, double x);

enum ladder_verdict { LADDER_OK, LADDER_INCONCLUSIVE, LADDER_STAIRCASE };

struct ladder {
    ladder_function *f;
    const void *context;
    double x;
    double length; /* distance in x over which f changes by about its own size */
    double limit; /* nearest point at which f is not smooth; 0: none */
    double size; /* the size of f, if rounding is not in proportion to f; 0: |f| near x */
};

struct ladder_slope {
    enum ladder_verdict verdict;
    double slope, bar;
    double scale; /* the unit of the error: size/length or |slope| */
    double h; /* the step and the column of the smallest bar */
    int column;
};

struct ladder_slope ladder_run(const struct ladder *ladder);

/* Returns 1 if `slope` agrees with the ladder, which has to be conclusive, within 8 bars +
 * 1e-12 scale. `off`, which may be NULL, is the difference over the allowed one. */
int ladder_agrees(const struct ladder_slope *found, double slope, double *off);

const char *ladder_verdict_name(enum ladder_verdict verdict);

#endif
