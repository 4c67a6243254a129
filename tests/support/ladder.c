/* ladder.c - see ladder.h. SPDX-License-Identifier: MIT */
#include "support/ladder.h"

#include <float.h>
#include <math.h>

enum { ROWS = 12, COLUMNS = 5, POINTS = 9, MIDDLE = POINTS / 2 };

/* A bar above this fraction of the scale says nothing. */
static const double conclusive = 1e-8;

/* largest power of two not above x: x + h and x - h are then as good as exact */
static double power_below(double x)
{
    int exponent;

    (void)frexp(x, &exponent);
    return ldexp(1, exponent - 1);
}

struct noise {
    long double level;
    int steps; /* neighbours that are equal to the last bit */
    double spacing;
};

static void sort(long double *v, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && v[k] < v[k - 1]; k--) {
            const long double swap = v[k];

            v[k] = v[k - 1];
            v[k - 1] = swap;
        }
}

/* rounding of f, from a table of differences over a spacing at which f itself is straight:
 * a column of order m has the variance of the noise times (2m)!/m!^2 */
static struct noise measure_noise(const struct ladder *l)
{
    static const double variance[] = {1, 2, 6, 20, 70, 252, 924};
    const double ulp = fabs(l->x) * DBL_EPSILON;
    struct noise noise = {0, 0, power_below(fmax(1e-9 * l->length, 16 * ulp))};
    long double v[POINTS], level[4];

    for (int i = 0; i < POINTS; i++)
        v[i] = l->f(l->context, l->x + (i - MIDDLE) * noise.spacing);
    for (int i = 1; i < POINTS; i++) noise.steps += v[i] == v[i - 1];
    for (int order = 1; order <= 6; order++) {
        long double sum = 0;

        for (int i = 0; i < POINTS - order; i++) v[i] = v[i + 1] - v[i];
        for (int i = 0; i < POINTS - order; i++) sum += v[i] * v[i];
        if (order >= 3)
            level[order - 3] = sqrtl(sum / (POINTS - order) / (long double)variance[order]);
    }
    sort(level, 4);
    noise.level = (level[1] + level[2]) / 2;
    return noise;
}

static long double apart(long double a, long double b)
{
    return fabsl(a - b);
}

struct table {
    long double t[ROWS][COLUMNS];
    double h[ROWS];
    long double amplitude, steepest;
};

static void fill(const struct ladder *l, struct table *table)
{
    double h = 0.25 * l->length;

    if (l->limit > 0) h = fmin(h, 0.5 * l->limit);
    h = power_below(h);
    table->amplitude = fabsl(l->f(l->context, l->x));
    table->steepest = 0;
    for (int j = 0; j < ROWS; j++, h /= 2) {
        const double above = l->x + h, below = l->x - h;
        const long double f = l->f(l->context, above), g = l->f(l->context, below);
        long double factor = 1;

        table->h[j] = h;
        table->t[j][0] = (f - g) / ((long double)above - below);
        table->steepest = fmaxl(table->steepest, fabsl(table->t[j][0]));
        table->amplitude = fmaxl(table->amplitude, fmaxl(fabsl(f), fabsl(g)));
        for (int k = 1; k < COLUMNS && k <= j; k++) {
            factor *= 4;
            table->t[j][k] =
                (factor * table->t[j][k - 1] - table->t[j - 1][k - 1]) / (factor - 1);
        }
    }
}

/* the entry with the smallest bar. The row below takes part in the bar: entries of large
 * steps agree by accident with those before them, but not with what comes after */
static void choose(const struct table *table, long double noise, struct ladder_slope *out)
{
    long double best = HUGE_VALL;

    for (int j = 1; j < ROWS - 1; j++) {
        long double gain = 1, factor = 1;

        for (int k = 0; k < COLUMNS && k < j; k++) {
            const long double t = table->t[j][k];
            long double bar =
                fmaxl(apart(t, table->t[j - 1][k]), apart(table->t[j + 1][k], t));

            if (k > 0) {
                factor *= 4;
                gain *= (factor + 0.5L) / (factor - 1);
                bar = fmaxl(bar, apart(t, table->t[j][k - 1]));
            }
            bar += noise * gain / (long double)table->h[j];
            if (!(bar < best)) continue;
            best = bar;
            out->slope = (double)t;
            out->bar = (double)bar;
            out->h = table->h[j];
            out->column = k;
        }
    }
}

struct ladder_slope ladder_run(const struct ladder *ladder)
{
    const struct noise noise = measure_noise(ladder);
    struct ladder_slope out = {LADDER_INCONCLUSIVE, NAN, HUGE_VAL, 0, 0, 0};
    struct table table;

    fill(ladder, &table);
    choose(&table, noise.level, &out);
    out.scale =
        fmax(fmax((double)table.amplitude, ladder->size) / ladder->length, fabs(out.slope));
    if (noise.steps > 0
        && table.steepest * (long double)noise.spacing
               > 4 * (long double)DBL_EPSILON * table.amplitude)
        out.verdict = LADDER_STAIRCASE;
    else if (out.bar <= conclusive * out.scale)
        out.verdict = LADDER_OK;
    return out;
}

int ladder_agrees(const struct ladder_slope *found, double slope, double *off)
{
    const double allowed = 8 * found->bar + 1e-12 * found->scale;
    const double difference = fabs(slope - found->slope);

    if (off) *off = difference == 0 ? 0 : difference / allowed;
    return found->verdict == LADDER_OK && difference <= allowed;
}

const char *ladder_verdict_name(enum ladder_verdict verdict)
{
    static const char *const name[] = {"conclusive", "inconclusive", "staircase"};

    return name[verdict];
}
