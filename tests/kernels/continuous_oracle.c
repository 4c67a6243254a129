/*
 * continuous_oracle.c - see continuous_oracle.h. SPDX-License-Identifier: MIT
 */
#include "continuous_oracle.h"

#include <math.h>
#include <stdlib.h>

#define PI_L 3.14159265358979323846264338327950288L

double oracle_uniform(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return ((*seed >> 8) + 0.5) / 8388608.0 - 1;
}

/* The sum of the coefficients from `first` on times the monomials up to a degree. */
static long double polynomial(const long double *c, int degree, double a, double b)
{
    long double sum = 0;

    for (int d = 0; d <= degree; d++)
        for (int j = 0; j <= d; j++) sum += *c++ * powl(a, d - j) * powl(b, j);
    return sum;
}

/* The five polynomials at a sample. */
struct values {
    long double l, m, h, l3, l4;
};

static long double integrand(const struct values *v, long double z)
{
    const long double t = z - v->m, cubic = v->l3 / 6 * t * t * t;

    return expl(v->l - v->h * t * t / 2)
           * (1 + cubic + cubic * cubic / 2 + v->l4 / 24 * t * t * t * t);
}

/* The mean over the range, by Gauss's rule of five points on pieces of a quarter of a
 * width (or a 16th of the range), within 16 widths of the maximum. */
static long double mean_over_range(const struct values *v, long double half)
{
    static const long double x[] = {0, 0.538469310105683091036314420700208805L,
                                    0.906179845938663992797626878299392965L};
    static const long double w[] = {0.568888888888888888888888888888888889L,
                                    0.478628670499366468041291514835638193L,
                                    0.236926885056189087514264040719917363L};
    const long double width = 1 / sqrtl(v->h);
    const long double from = fmaxl(-half, v->m - 16 * width);
    const long double to = fminl(half, v->m + 16 * width);
    long double sum = 0;

    if (from >= to) return 0;
    const int pieces = 16 + (int)((to - from) / width * 4);

    for (int i = 0; i < pieces; i++) {
        const long double reach = (to - from) / (2 * pieces);
        const long double middle = from + (2 * i + 1) * reach;

        for (int j = 0; j < 3; j++) {
            sum += w[j] * reach * integrand(v, middle + x[j] * reach);
            if (j > 0) sum += w[j] * reach * integrand(v, middle - x[j] * reach);
        }
    }
    return sum / (2 * half);
}

/* The polynomial through the numbers of both ends of a cell, and its second derivative for
 * the difference of variances. The cell is that of `found`, and the place is fixed where
 * this lies beyond the grid: energies may then change by small amounts. */
static long double table_at(const struct spectrum_row *row, const double *grid,
                            long double t, long double found, long double energy,
                            long double variance)
{
    const long double before = (found - row->low) / row->step;
    const long double place = before < 0            ? 0
                              : before > row->n - 1 ? row->n - 1
                                                    : (energy - row->low) / row->step;
    const int cell = (int)fminl(floorl(fmaxl(0, before)), row->n - 2);
    const long double f = place - cell;
    long double p[2][3], c[6];

    for (int k = 0; k < 3; k++)
        for (int end = 0; end < 2; end++) {
            const int at = k * row->n + cell + end;

            p[end][k] = row->number[at] + (grid ? t * grid[at] : 0);
        }
    c[0] = p[0][0], c[1] = p[0][1], c[2] = p[0][2] / 2;
    /* value, slope and second derivative that c3, c4, c5 have to add at f = 1 */
    const long double v = p[1][0] - c[0] - c[1] - c[2], s = p[1][1] - c[1] - 2 * c[2];
    const long double q = p[1][2] - 2 * c[2];

    c[3] = 10 * v - 4 * s + q / 2;
    c[4] = -15 * v + 7 * s - q;
    c[5] = 6 * v - 3 * s + q / 2;
    long double value = 0, second = 0;

    for (int k = 5; k >= 0; k--) value = value * f + c[k];
    for (int k = 5; k >= 2; k--) second = second * f + k * (k - 1) * c[k];
    return value + (variance - row->variance) / 2 / row->step / row->step * second;
}

static struct values values_at(const struct profile *profile,
                               const struct profile_change *dot, long double t, double a,
                               double b)
{
    long double c[SPOT_COEFFICIENTS];

    for (int k = 0; k < SPOT_COEFFICIENTS; k++)
        c[k] = profile->c[k] + (dot ? t * dot->c[k] : 0);
    return (struct values){polynomial(c + SPOT_L, 4, a, b), polynomial(c + SPOT_M, 4, a, b),
                           polynomial(c + SPOT_H, 2, a, b),
                           polynomial(c + SPOT_L3, 1, a, b),
                           polynomial(c + SPOT_L4, 1, a, b)};
}

static long double energy_of(const struct values *v)
{
    return v->m + v->l3 / (2 * v->h * v->h);
}

long double oracle_sample(const struct profile *profile, const struct profile_change *dot,
                          long double t, double a, double b)
{
    const struct values v = values_at(profile, dot, t, a, b);
    const struct values before = values_at(profile, NULL, 0, a, b);

    if (profile->kind == PROFILE_STILL) return expl(v.l);
    if (profile->kind == PROFILE_RANGE)
        return mean_over_range(&v, profile->half + (dot ? t * dot->half : 0));
    return expl(v.l) * sqrtl(2 * PI_L / v.h)
           * table_at(profile->row, dot ? dot->grid : NULL, t, energy_of(&before),
                      energy_of(&v), 1 / v.h);
}

void oracle_image(const struct profile *profile, const struct profile_change *dot,
                  long double t, int over, int nrows, const struct sample_row *rows,
                  int pixels, long double *image)
{
    for (int i = 0; i < pixels; i++) image[i] = 0;
    for (int i = 0; i < nrows; i++)
        for (int j = 0; j < rows[i].n; j++)
            image[rows[i].pixel + (size_t)(j / over)] +=
                oracle_sample(profile, dot, t, rows[i].a + j * rows[i].da, rows[i].b);
}

void oracle_change(const struct profile *profile, const struct profile_change *dot,
                   int over, int nrows, const struct sample_row *rows, int pixels,
                   long double *change)
{
    static const long double factor[] = {4 / 5.L, -1 / 5.L, 4 / 105.L, -1 / 280.L};
    const long double step = 1e-2L;
    long double *up = calloc(2 * (size_t)pixels, sizeof *up);

    if (!up) abort();
    long double *down = up + pixels;

    for (int i = 0; i < pixels; i++) change[i] = 0;
    for (int k = 0; k < 4; k++) {
        oracle_image(profile, dot, (k + 1) * step, over, nrows, rows, pixels, up);
        oracle_image(profile, dot, -(k + 1) * step, over, nrows, rows, pixels, down);
        for (int i = 0; i < pixels; i++) change[i] += factor[k] * (up[i] - down[i]) / step;
    }
    free(up);
}

long double oracle_lines(int n, const double *e, const double *w, long double variance,
                         long double at)
{
    long double sum = 0;

    for (int i = 0; i < n; i++) {
        const long double width = sqrtl(variance), x = (e[i] - at) / width;

        sum += w[i] * expl(-x * x / 2) * (1 - width / 2 * (x * x * x - 3 * x));
    }
    return sum / sqrtl(2 * PI_L * variance);
}
