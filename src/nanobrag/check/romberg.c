/*
 * romberg.c - extrapolates differences to step 0, and estimates rounding.
 *
 * SPDX-License-Identifier: MIT
 */
#include "check/romberg.h"

#include <float.h>
#include <math.h>

double romberg_power_below(double x)
{
    int exponent;

    (void)frexp(x, &exponent);
    return ldexp(1, exponent - 1);
}

double romberg_point(int side, int i)
{
    return side == ROMBERG_CENTRAL ? i - ROMBERG_POINTS / 2 : side * i;
}

double romberg_spacing(double x, double length)
{
    return romberg_power_below(fmax(1e-9 * length, 16 * fabs(x) * DBL_EPSILON));
}

static void sort(long double *v, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && v[k] < v[k - 1]; k--) {
            const long double swap = v[k];

            v[k] = v[k - 1];
            v[k - 1] = swap;
        }
}

/* Estimate the noise from a table of differences, over spacings so small that the
 * function itself is straight. A column of order m has (2m)!/m!^2 times the variance of
 * the noise. */
struct romberg_noise romberg_noise(long double v[ROMBERG_POINTS])
{
    static const double variance[] = {1, 2, 6, 20, 70, 252, 924};
    struct romberg_noise noise = {0, 0};
    long double level[4];

    for (int i = 1; i < ROMBERG_POINTS; i++) noise.steps += v[i] == v[i - 1];
    for (int order = 1; order <= 6; order++) {
        const int n = ROMBERG_POINTS - order;
        long double sum = 0;

        for (int i = 0; i < n; i++) v[i] = v[i + 1] - v[i];
        for (int i = 0; i < n; i++) sum += v[i] * v[i];
        if (order >= 3) level[order - 3] = sqrtl(sum / n / (long double)variance[order]);
    }
    sort(level, 4);
    noise.level = (level[1] + level[2]) / 2;
    return noise;
}

static long double distance(long double a, long double b)
{
    return fabsl(a - b);
}

/* Extrapolate to step 0. Central differences have only even powers of the step, one-sided
 * ones have all. */
static void extrapolate(struct romberg *table, int columns)
{
    const long double base = table->side == ROMBERG_CENTRAL ? 4 : 2;

    for (int j = 1; j < ROMBERG_ROWS; j++) {
        long double factor = 1;

        for (int k = 1; k < columns && k <= j; k++) {
            factor *= base;
            table->t[j][k] =
                (factor * table->t[j][k - 1] - table->t[j - 1][k - 1]) / (factor - 1);
        }
    }
}

/* The row below an entry counts for its error bar too: entries of large steps may agree by
 * accident with the row above, but then not with the row below. */
struct romberg_slope romberg_choose(struct romberg *table, long double noise)
{
    const int central = table->side == ROMBERG_CENTRAL;
    const int columns = central ? 5 : ROMBERG_COLUMNS;
    const long double base = central ? 4 : 2;
    struct romberg_slope best = {NAN, HUGE_VAL, HUGE_VAL, 0, 0};
    long double smallest = HUGE_VALL;

    extrapolate(table, columns);
    for (int j = 1; j < ROMBERG_ROWS - 1; j++) {
        long double gain = central ? 1 : 2, factor = 1;

        for (int k = 0; k < columns && k < j; k++) {
            const long double t = table->t[j][k];
            long double bar =
                fmaxl(distance(t, table->t[j - 1][k]), distance(table->t[j + 1][k], t));
            long double rounding;

            if (k > 0) {
                factor *= base;
                gain *= (factor + 0.5L) / (factor - 1);
                bar = fmaxl(bar, distance(t, table->t[j][k - 1]));
            }
            rounding = noise * gain / (long double)table->h[j];
            if (!(bar + rounding < smallest)) continue;
            smallest = bar + rounding;
            best.slope = (double)t;
            best.bar = (double)smallest;
            best.truncation = (double)bar;
            best.h = table->h[j];
            best.column = k;
        }
    }
    return best;
}
