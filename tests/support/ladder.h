/*
 * ladder.h - the slope of a function by extrapolated central differences, with an error
 * bar: steps h0 2^-j, Romberg columns, the entry of the smallest bar. A central difference
 * sees both sides, so a kink at x itself passes unseen: keep such points `limit` away.
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
    double length; /* of x, over which f changes by about its own size */
    double limit; /* nearest point where f is not smooth; 0: none */
    double size; /* of f, where rounding is not in proportion to f; 0: what f is about x */
};

struct ladder_slope {
    enum ladder_verdict verdict;
    double slope, bar;
    double scale; /* what the slope is measured against: size/length or |slope| */
    double h; /* step and column that won */
    int column;
};

struct ladder_slope ladder_run(const struct ladder *ladder);

/* Whether `slope` is what the ladder finds: conclusive, and within 8 bars + 1e-12 scale.
 * `off` (may be NULL) is the difference over what is allowed. */
int ladder_agrees(const struct ladder_slope *found, double slope, double *off);

const char *ladder_verdict_name(enum ladder_verdict verdict);

#endif
