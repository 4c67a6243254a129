/*
 * slopes.c - sin(pi n v)/sin(pi v) of physics/ for 1 to 200 cells and 0 <= v <= 1/2
 * compared with sums of n cosines in 128 bits, which lose no accuracy at small v.
 *
 * SPDX-License-Identifier: MIT
 */
#include "oracle/slopes.h"

#include <math.h>

#include "oracle/dual.h"
#include "oracle/slit.h"
#include "support/tap.h"
#include "support/worst.h"

enum { CELLS = 200, SMALL = 150, POINTS = SMALL + 251 };

struct closed_slit {
    quad value, slope_v, slope_n;
};

/* 0, 12 to a decade from 1e-13, then evenly to 1/2 */
static double point(int i, int is_single)
{
    const double v = i == 0      ? 0
                     : i < SMALL ? 1e-13 * pow(10, i / 12.0)
                                 : (i - SMALL) / 500.0;

    return is_single ? (double)(float)v : v;
}

/* all of 1 ... CELLS at v: each is that of two cells fewer and two more cosines */
static void closed_slits(double v, struct closed_slit out[CELLS + 1])
{
    const quad x = quad_pi() * v;

    out[0] = (struct closed_slit){0, 0, 0};
    for (int n = 1; n <= CELLS; n++) {
        const struct closed_slit before = n > 1 ? out[n - 2] : out[0];
        const quad angle = (n - 1) * x, times = n > 1 ? 2 : 1;

        out[n].value = before.value + times * cosq(angle);
        out[n].slope_v = before.slope_v - times * (n - 1) * quad_pi() * sinq(angle);
        out[n].slope_n = v == 0 ? 1 : x * cosq(n * x) / sinq(x);
    }
}

struct errors {
    struct worst value, near_middle, slope_v, slope_n;
};

static void note(struct worst *worst, double ours, quad truth, quad scale)
{
    /* the sign is common to all three and left out */
    worst_add(worst, (double)(fabsq(ours) - fabsq(truth)), 0, (double)scale);
}

static struct errors measure(struct slit (*slit)(double, double), int is_single)
{
    static struct closed_slit closed[POINTS][CELLS + 1];
    const struct worst none = {0};
    struct errors worst = {none, none, none, none};

    for (int i = 0; i < POINTS; i++) closed_slits(point(i, is_single), closed[i]);
    for (int n = 1; n <= CELLS; n++) {
        quad steepest = 1, most = 1;

        for (int i = 0; i < POINTS; i++) {
            steepest = fmaxq(steepest, fabsq(closed[i][n].slope_v));
            most = fmaxq(most, fabsq(closed[i][n].slope_n));
        }
        for (int i = 0; i < POINTS; i++) {
            const double v = point(i, is_single);
            const struct slit ours = slit(v, n);
            const struct closed_slit truth = closed[i][n];

            note(&worst.value, ours.value, truth.value, n);
            note(&worst.slope_v, ours.slope_v, truth.slope_v, steepest);
            /* n v is rounded, which moves the cosine of pi n v */
            note(&worst.slope_n, ours.slope_n, truth.slope_n,
                 most * (1 + quad_pi() * n * v));
            if (n > 1 && v > 0 && n * v * 3.14159265358979 < 0.2)
                note(&worst.near_middle, ours.slope_v, truth.slope_v, fabsq(truth.slope_v));
        }
    }
    return worst;
}

int oracle_slopes_double(void)
{
    const struct errors worst = measure(slit_double, 0);

    worst_check(&worst.value, 1e-15, "value, of n");
    worst_check(&worst.near_middle, 1e-15, "slope in v where pi n v < 0.2, relative");
    worst_check(&worst.slope_v, 1e-14, "slope in v, of the steepest");
    worst_check(&worst.slope_n, 1e-15, "slope in n, of (1 + pi n v) times the steepest");
    return TAP_PASS;
}

int oracle_slopes_single(void)
{
    const struct errors worst = measure(slit_single, 1);

    worst_check(&worst.value, 1e-6, "value, of n");
    worst_check(&worst.near_middle, 1e-6, "slope in v where pi n v < 0.2, relative");
    worst_check(&worst.slope_v, 1e-6, "slope in v, of the steepest");
    worst_check(&worst.slope_n, 1e-6, "slope in n, of (1 + pi n v) times the steepest");
    return TAP_PASS;
}
