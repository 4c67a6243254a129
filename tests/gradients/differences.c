/*
 * differences.c - the finite differences on functions whose derivative is known, and on
 * functions that have none.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>

#include "gradients/gradients.h"

static long double cube(const void *unused, double x)
{
    (void)unused;
    return (long double)x * x * x;
}

static long double exponential(const void *unused, double x)
{
    (void)unused;
    return exp(x);
}

static long double inverse(const void *unused, double x)
{
    (void)unused;
    return 1 / x;
}

static long double wave(const void *unused, double x)
{
    (void)unused;
    return sinl(x);
}

static long double flat(const void *unused, double x)
{
    (void)unused;
    (void)x;
    return 3;
}

static const struct known {
    const char *name;
    ladder_function *f;
    double x, length, slope;
} known[] = {
    {"x^3 at 2", cube, 2, 1, 12},
    {"x^3 at 0", cube, 0, 1, 0},
    {"exp(x) at 0.3, in double", exponential, 0.3, 1, 1.3498588075760032},
    {"exp(x) at -20, in double", exponential, -20, 1, 2.061153622438558e-9},
    {"1/x at 1e-3, in double", inverse, 1e-3, 1e-3, -1e6},
    {"1/x at 7e8, in double", inverse, 7e8, 7e8, -1 / 4.9e17},
    {"sin(x) at 1", wave, 1, 1, 0.54030230586813972},
    {"sin(x) at 1e4", wave, 1e4, 1, -0.9521553682590149},
    {"a constant", flat, 2, 1, 0},
};

int ladder_known_slopes(void)
{
    for (size_t i = 0; i < LENGTH(known); i++) {
        const struct known *k = known + i;
        const struct ladder ladder = {k->f, NULL, k->x, k->length, 0, 0};
        const struct ladder_slope found = ladder_run(&ladder);

        tap_check(ladder_agrees(&found, k->slope, NULL),
                  "%s: slope %.16g, ladder %.16g +- %.1e (%s, column %d)", k->name,
                  k->slope, found.slope, found.bar, ladder_verdict_name(found.verdict),
                  found.column);
        tap_check(found.bar <= 2e-12 * found.scale, "%s: the bar is %.1e of the scale",
                  k->name, found.scale > 0 ? found.bar / found.scale : 0);
    }
    return TAP_PASS;
}

/* an error of 1e-10 of the scale is seen, whatever the function */
int ladder_wrong_slopes(void)
{
    for (size_t i = 0; i < LENGTH(known); i++) {
        const struct known *k = known + i;
        const struct ladder ladder = {k->f, NULL, k->x, k->length, 0, 0};
        const struct ladder_slope found = ladder_run(&ladder);
        const double error = 1e-10 * found.scale;

        tap_check(!ladder_agrees(&found, k->slope + error, NULL)
                      && !ladder_agrees(&found, k->slope - error, NULL)
                      && !ladder_agrees(&found, NAN, NULL),
                  "%s: a slope that is wrong by %.1e is refused", k->name, error);
    }
    return TAP_PASS;
}

static long double rounded_exponential(const void *unused, double x)
{
    (void)unused;
    return (float)exp(x);
}

static long double rounded_argument(const void *unused, double x)
{
    (void)unused;
    return sinl((float)x);
}

int ladder_staircase(void)
{
    for (double x = 0.1; x < 3; x += 0.37) {
        const struct ladder result = {rounded_exponential, NULL, x, 1, 0, 0};
        const struct ladder argument = {rounded_argument, NULL, x, 1, 0, 0};

        tap_check(ladder_run(&result).verdict == LADDER_STAIRCASE,
                  "float exp(%g) is a staircase", x);
        tap_check(ladder_run(&argument).verdict == LADDER_STAIRCASE,
                  "sin(float %g) is a staircase", x);
    }
    return TAP_PASS;
}

static long double noisy(const void *level, double x)
{
    union {
        double x;
        uint64_t bits;
    } seed = {x};

    for (int i = 0; i < 4; i++) (void)random_number(&seed.bits);
    return expl(x) + *(const double *)level * (random_number(&seed.bits) - 0.5);
}

/* noise widens the bar in proportion, so that the true slope stays allowed, and too much
 * of it makes the ladder inconclusive */
int ladder_noise(void)
{
    for (double level = 1e-14; level < 1e-2; level *= 10)
        for (double x = 0; x < 1; x += 0.3) {
            const struct ladder ladder = {noisy, &level, x, 1, 0, 0};
            const struct ladder_slope found = ladder_run(&ladder);

            if (level < 1e-10)
                tap_check(ladder_agrees(&found, exp(x), NULL),
                          "noise %.0e at %g: off by %.1e, bar %.1e", level, x,
                          found.slope - exp(x), found.bar);
            if (level > 3e-8)
                tap_check(found.verdict == LADDER_INCONCLUSIVE,
                          "noise %.0e at %g: bar %.1e, %s", level, x, found.bar,
                          ladder_verdict_name(found.verdict));
        }
    return TAP_PASS;
}

static long double kinked(const void *at, double x)
{
    const long double off = x - (long double)*(const double *)at;

    return expl(x) + (off > 0 ? off : 0);
}

static long double broken(const void *at, double x)
{
    return expl(x) + (x > *(const double *)at ? 1 : 0);
}

static long double undefined(const void *at, double x)
{
    return x > *(const double *)at ? NAN : expl(x);
}

/* a kink or jump within reach either leaves enough clean steps or is inconclusive; with
 * the limit given it does no harm */
int ladder_kinks(void)
{
    static ladder_function *const bent[] = {kinked, broken, undefined};
    static const char *const name[] = {"kink", "jump", "edge"};

    for (size_t i = 0; i < LENGTH(bent); i++)
        for (double off = 1e-6; off < 0.3; off *= 4) {
            const double x = 0.5, at = x + off;
            struct ladder ladder = {bent[i], &at, x, 1, 0, 0};
            struct ladder_slope found = ladder_run(&ladder);

            tap_check(found.verdict != LADDER_OK || ladder_agrees(&found, exp(x), NULL),
                      "%s at a distance of %.1e: %s", name[i], off,
                      ladder_verdict_name(found.verdict));
            if (off < 1e-3) continue;
            ladder.limit = off;
            found = ladder_run(&ladder);
            tap_check(ladder_agrees(&found, exp(x), NULL),
                      "%s at a distance of %.1e, limited: slope %.16g +- %.1e", name[i],
                      off, found.slope, found.bar);
        }
    return TAP_PASS;
}
