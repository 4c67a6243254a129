/* ladder.c - see ladder.h. SPDX-License-Identifier: MIT */
#include "support/ladder.h"

#include <float.h>
#include <math.h>

#include "check/romberg.h"

/* An error bar above this fraction of the scale proves nothing. */
static const double conclusive = 1e-8;

struct sums {
    long double amplitude, steepest;
};

static struct sums fill(const struct ladder *l, struct romberg *table)
{
    struct sums sums = {fabsl(l->f(l->context, l->x)), 0};
    double h = 0.25 * l->length;

    if (l->limit > 0) h = fmin(h, 0.5 * l->limit);
    h = romberg_power_below(h);
    table->side = ROMBERG_CENTRAL;
    for (int j = 0; j < ROMBERG_ROWS; j++, h /= 2) {
        const double above = l->x + h, below = l->x - h;
        const long double f = l->f(l->context, above), g = l->f(l->context, below);

        table->h[j] = h;
        table->t[j][0] = (f - g) / ((long double)above - below);
        sums.steepest = fmaxl(sums.steepest, fabsl(table->t[j][0]));
        sums.amplitude = fmaxl(sums.amplitude, fmaxl(fabsl(f), fabsl(g)));
    }
    return sums;
}

struct ladder_slope ladder_run(const struct ladder *ladder)
{
    const double spacing = romberg_spacing(ladder->x, ladder->length);
    struct ladder_slope out = {LADDER_INCONCLUSIVE, NAN, HUGE_VAL, 0, 0, 0};
    long double values[ROMBERG_POINTS];
    struct romberg_noise noise;
    struct romberg_slope best;
    struct romberg table;
    struct sums sums;

    for (int i = 0; i < ROMBERG_POINTS; i++)
        values[i] = ladder->f(ladder->context,
                              ladder->x + romberg_point(ROMBERG_CENTRAL, i) * spacing);
    noise = romberg_noise(values);
    sums = fill(ladder, &table);
    best = romberg_choose(&table, noise.level);
    out.slope = best.slope;
    out.bar = best.bar;
    out.h = best.h;
    out.column = best.column;
    out.scale =
        fmax(fmax((double)sums.amplitude, ladder->size) / ladder->length, fabs(out.slope));
    if (noise.steps > 0
        && sums.steepest * (long double)spacing
               > 4 * (long double)DBL_EPSILON * sums.amplitude)
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
