/*
 * rules.c - Gauss's rules for the lines of a spectrum, by the recurrence of their
 * orthonormal polynomials p(k) (Stieltjes):
 *   b(k+1) p(k+1) = (e - a(k)) p(k) - b(k) p(k-1),  p(0) = 1/sqrt(sum w).
 * The points of a rule are the roots of p(n); between two neighbours lies one root of
 * p(n-1). The weights are 1/(p(0)^2 + ... + p(n-1)^2).
 *
 * The derivative of a rule's sum by a line is the line's weight in Hermite's polynomial
 * through values and slopes at the points, because both are exact for degree 2 n - 1.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/continuous/forms/rules.h"

#include <math.h>

static double energy_of(const struct phys_source *source, double k)
{
    return source->inverse_wavelength / k - 1;
}

/* The coefficients of the recurrence, found so far. */
struct recurrence {
    double first, a[RULE_MOST], b[RULE_MOST + 1];
};

/* The polynomial p(n) at a place, its slope, and p(0)^2 + ... + p(n-1)^2. */
struct value {
    double p, slope, squares;
};

/* Evaluates p(n) if `scaled` is 1. Otherwise b(n) is not known yet, and b(n) p(n) is
 * evaluated. */
static struct value value_at(const struct recurrence *r, int n, int scaled, double e)
{
    struct value v = {r->first, 0, 0};
    double below = 0, slope_below = 0;

    for (int k = 0; k < n; k++) {
        const double per = scaled || k < n - 1 ? 1 / r->b[k + 1] : 1;
        const double under = k > 0 ? r->b[k] : 0, from = e - r->a[k];
        const double p = per * (from * v.p - under * below);
        const double slope = per * (v.p + from * v.slope - under * slope_below);

        v.squares += v.p * v.p;
        below = v.p;
        slope_below = v.slope;
        v.p = p;
        v.slope = slope;
    }
    return v;
}

/* Finds the root of p(n) between two places, by Newton's steps or by halving. */
static double find_root(const struct recurrence *r, int n, double low, double high)
{
    const double sign = value_at(r, n, 1, high).p > 0 ? 1 : -1;
    const double least = 1e-15 * (high - low);
    double x = (low + high) / 2;

    for (int step = 0; step < 60; step++) {
        const struct value v = value_at(r, n, 1, x);
        const double next = x - v.p / v.slope;

        if (sign * v.p > 0)
            high = x;
        else
            low = x;
        if (fabs(next - x) <= least) return next;
        x = next > low && next < high ? next : (low + high) / 2;
    }
    return x;
}

/* Sets a(k) and b(k + 1). Returns 0 if the lines are too few for a polynomial of degree k +
 * 1. */
static int extend(struct recurrence *r, int k, int n, const struct phys_source *source,
                  double wave)
{
    double sum = 0, norm = 0, size = 0;

    for (int j = 0; j < n; j++) {
        const double e = energy_of(source + j, wave), p = value_at(r, k, 1, e).p;

        sum += source[j].weight * e * p * p;
    }
    r->a[k] = sum;
    for (int j = 0; j < n; j++) {
        const double e = energy_of(source + j, wave);
        const double p = value_at(r, k + 1, 0, e).p, from = e * value_at(r, k, 1, e).p;

        norm += source[j].weight * p * p;
        size += source[j].weight * from * from;
    }
    r->b[k + 1] = sqrt(norm);
    return norm > 1e-20 * size;
}

void rules_make(int n, const struct phys_source *source, double k, struct rules *out)
{
    struct recurrence r = {0};
    double sum = 0, low = INFINITY, high = -INFINITY;

    for (int j = 0; j < n; j++) {
        const double e = energy_of(source + j, k);

        sum += source[j].weight;
        low = fmin(low, e);
        high = fmax(high, e);
    }
    out->most = 0;
    if (!(sum > 0)) return;
    r.first = 1 / sqrt(sum);
    for (int points = 1; points <= RULE_MOST && points < n; points++) {
        double *at = out->at + rules_point(points, 0);
        const double *before = at - points + 1;

        if (!extend(&r, points - 1, n, source, k)) return;
        for (int i = 0; i < points; i++) {
            at[i] = find_root(&r, points, i > 0 ? before[i - 1] : low,
                              i < points - 1 ? before[i] : high);
            out->weight[rules_point(points, i)] =
                1 / value_at(&r, points, 1, at[i]).squares;
        }
        out->most = points;
    }
}

struct rule_slopes rules_slopes(const struct rules *rules, int points, int i,
                                const struct phys_source *source, double k)
{
    const double *at = rules->at + rules_point(points, 0);
    const double per = 1 / rules->weight[rules_point(points, i)];
    const double from = energy_of(source, k) - at[i];
    double l = 1, slope = 0, bend = 0; /* Lagrange's polynomial, its slope at the line, and
                                          its slope at the point */

    for (int m = 0; m < points; m++) {
        const double apart = m == i ? 1 : 1 / (at[i] - at[m]);
        const double t = (from + at[i] - at[m]) * apart;

        if (m == i) continue;
        slope = slope * t + l * apart;
        l *= t;
        bend += apart;
    }
    const double square = l * l, rise = 2 * l * slope, flat = 1 - 2 * bend * from;

    return (struct rule_slopes){.at_w = per * from * square,
                                .at_e = per * source->weight * (square + from * rise),
                                .weight_w = flat * square,
                                .weight_e =
                                    source->weight * (flat * rise - 2 * bend * square)};
}

void rules_even_point(int n, int i, double *at, double *weight)
{
    double x = cos(3.14159265358979323846 * (i + 0.75) / (n + 0.5)), slope = 1;

    for (int step = 0; step < 8; step++) {
        double p = 1, last = 0;

        for (int k = 1; k <= n; k++) {
            const double next = ((2 * k - 1) * x * p - (k - 1) * last) / k;

            last = p;
            p = next;
        }
        slope = n * (x * p - last) / (x * x - 1);
        x -= p / slope;
    }
    *at = x;
    *weight = 1 / ((1 - x * x) * slope * slope);
}
