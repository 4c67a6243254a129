/*
 * test_continuous_spectrum.c - the rows of a list of spectral lines against sums over its
 * lines in long double, and their derivatives by the lines.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "continuous_oracle.h"
#include "kernels/continuous/forms/rules.h"
#include "kernels/kernels.h"
#include "support/tap.h"
#include "support/worst.h"

enum { LINES = 100 };

enum { FLAT, SPIKY, TWO, SPECTRA };
static const char *const spectra[] = {"flat 2 %", "spiky", "two lines"};

static int make_lines(int kind, double *e, double *w)
{
    const int n = kind == TWO ? 2 : LINES;
    unsigned seed = 7;

    for (int i = 0; i < n; i++) {
        e[i] = (kind == TWO ? 0.0025 : 0.02) * (i / (n - 1.0) - 0.5);
        w[i] = kind == SPIKY ? -log((oracle_uniform(&seed) + 1) / 2 + 1e-9)
                                   * exp(-pow((i - 50) / 25.0, 2))
                             : 1.0 / n;
    }
    return n;
}

/* Returns the value of one sample. */
static double one_sample(const struct continuous_kernels *kernels,
                         const struct profile *profile, double a, double b)
{
    const struct sample_row row = {a, 0, b, 1, 0};
    double value = 0;

    kernels->draw(profile, 1, 1, &row, 1, &value);
    return value;
}

/* Rows read by samples, whose height is 1, against the sums over lines. */
static int rows_of_spectra(void)
{
    for (int kind = FLAT; kind < SPECTRA; kind++)
        for (double width = 1e-4; width < 1.6e-3; width *= 1.38) {
            struct worst worst = {0};
            struct spectral_lines lines = {0};
            struct spectrum_row row = {0};
            struct profile p = {.kind = PROFILE_TABLE, .row = &row};
            double e[LINES], w[LINES], peak = 0;
            const int n = make_lines(kind, e, w);

            if (!spectrum_make(&lines, n, e, w, 0, 1e-4, 1.6e-3)
                || !spectrum_row(&lines, width * width, &row))
                abort();
            for (int i = 0; i < row.n; i++) peak = fmax(peak, row.number[i]);
            p.c[SPOT_L] = log(1 / (width * sqrt(2 * M_PI)));
            p.c[SPOT_H] = 1 / (width * width);
            for (int i = -700; i <= 700; i++) {
                p.c[SPOT_M] = i * 2.7e-5;
                worst_add(&worst,
                          one_sample(kernels_lanes("").continuous_precise, &p, 0, 0),
                          (double)oracle_lines(n, e, w, width * width, p.c[SPOT_M]), peak);
            }
            worst_check(&worst, 1e-5, "%s, width %g: of the spectrum's peak", spectra[kind],
                        width);
            spectrum_free(&lines);
            spectrum_row_free(&row);
        }
    return TAP_PASS;
}

/* The numbers, and their changes along the lines' energies and weights, as sums over all
 * lines. */
static void direct_row(const struct spectral_lines *s, const struct spectrum_row *row,
                       const double *dot_e, const double *dot_w, long double *number,
                       long double *change)
{
    const long double width = sqrtl(row->variance + s->extra);
    const long double height = 1 / (width * sqrtl(2 * 3.14159265358979323846L));
    const long double h = row->step / width;
    const long double skew = -0.5L * row->variance * row->variance / powl(width, 3);

    for (int i = 0; i < row->n; i++)
        for (int j = 0; j < s->n; j++) {
            const long double x = (s->e[j] - row->low - i * row->step) / width;
            const long double g = height * expl(-x * x / 2);
            long double he[7] = {1, x}, by[4]; /* Hermite's polynomials */

            for (int k = 2; k < 7; k++) he[k] = x * he[k - 1] - (k - 1) * he[k - 2];
            for (int k = 0; k < 4; k++) by[k] = g * powl(h, k) * (he[k] + skew * he[k + 3]);
            for (int k = 0; k < 3; k++) {
                number[k * row->n + i] += s->w[j] * by[k];
                change[k * row->n + i] +=
                    dot_w[j] * by[k] - dot_e[j] * s->w[j] * by[k + 1] / row->step;
            }
        }
}

/* A spectrum, and a direction in which its lines move. */
struct moving {
    int n;
    double e[LINES], w[LINES], dot_e[LINES], dot_w[LINES];
    struct spectral_lines lines;
    struct spectrum_row row;
};

/* Makes the row of the lines moved by t along their direction. */
static void move_lines(struct moving *m, double t, double extra)
{
    double e[LINES], w[LINES];

    for (int j = 0; j < m->n; j++) {
        e[j] = m->e[j] + t * m->dot_e[j];
        w[j] = m->w[j] + t * m->dot_w[j];
    }
    if (!spectrum_make(&m->lines, m->n, e, w, extra, 1.03e-4, 1e-3)
        || !spectrum_row(&m->lines, 4.3e-8, &m->row))
        abort();
}

/* The change of a row against its differences of fourth order. */
static void add_differences(struct moving *m, double extra, const double *change,
                            double most, struct worst *worst)
{
    static const double factor[] = {1 / 12.0, -2 / 3.0, 0, 2 / 3.0, -1 / 12.0};
    const double step = 1e-2;
    const size_t all = SPECTRUM_NUMBERS * (size_t)m->row.n;
    double *found = calloc(all, sizeof *found);

    if (!found) abort();
    for (int k = 0; k < 5; k++) {
        move_lines(m, (k - 2) * step, extra);
        if (SPECTRUM_NUMBERS * (size_t)m->row.n != all) abort();
        for (size_t i = 0; i < all; i++) found[i] += factor[k] * m->row.number[i] / step;
    }
    worst_add_all(worst, change, found, all, most);
    free(found);
}

/* Adds the numbers of a row, their changes, and the product of the changes with random
 * cotangents against the adjoint. */
static void examine_row(struct moving *m, double extra, struct worst *numbers,
                        struct worst *along, struct worst *differences,
                        struct worst *transposed)
{
    double bar_e[LINES] = {0}, bar_w[LINES] = {0};
    double sum = 0, back = 0, size = 0, peak = 0, most = 0;
    unsigned seed = 3;

    for (int j = 0; j < m->n; j++) {
        m->dot_e[j] = 1e-4 * oracle_uniform(&seed);
        m->dot_w[j] = m->w[j] * oracle_uniform(&seed);
    }
    move_lines(m, 0, extra);
    const size_t all = SPECTRUM_NUMBERS * (size_t)m->row.n;
    long double *truth = calloc(2 * all, sizeof *truth);
    double *found = calloc(2 * all, sizeof *found), *grid = found + all;

    if (!truth || !found) abort();
    direct_row(&m->lines, &m->row, m->dot_e, m->dot_w, truth, truth + all);
    spectrum_row_change(&m->lines, m->row.variance, m->dot_e, m->dot_w, found);
    for (size_t k = 0; k < all; k++) {
        peak = fmax(peak, (double)fabsl(truth[k]));
        most = fmax(most, (double)fabsl(truth[all + k]));
        grid[k] = oracle_uniform(&seed);
    }
    for (size_t k = 0; k < all; k++) {
        worst_add(numbers, m->row.number[k], (double)truth[k], peak);
        worst_add(along, found[k], (double)truth[all + k], most);
        sum += grid[k] * found[k];
        size += fabs(grid[k] * found[k]);
    }
    spectrum_row_adjoint(&m->lines, m->row.variance, grid, bar_e, bar_w);
    for (int j = 0; j < m->n; j++) back += bar_e[j] * m->dot_e[j] + bar_w[j] * m->dot_w[j];
    worst_add(transposed, back, sum, size);
    add_differences(m, extra, found, most, differences);
    free(truth);
    free(found);
}

static int lines_of_rows(void)
{
    struct worst numbers[2] = {{.count = 0}}, along[2] = {{.count = 0}};
    struct worst differences = {0}, transposed = {0};

    for (int kind = FLAT; kind < SPECTRA; kind++)
        for (int i = 0; i < 2; i++) {
            struct moving m = {.n = 0};

            m.n = make_lines(kind, m.e, m.w);
            examine_row(&m, i * 1e-7, numbers + (kind == TWO), along + (kind == TWO),
                        &differences, &transposed);
            spectrum_free(&m.lines);
            spectrum_row_free(&m.row);
        }
    /* a line ends at 6 widths, where its second derivative is 35 exp(-18)/4 */
    worst_check(numbers + 1, 1.4e-7, "two lines: numbers of a row against sums");
    worst_check(along + 1, 1e-6, "two lines: changes of a row against sums");
    worst_check(numbers, 1e-5, "many lines: numbers of a row against sums");
    worst_check(along, 3e-5, "many lines: changes of a row against sums");
    worst_check(&differences, 1e-8, "changes of a row against its differences");
    worst_check(&transposed, 1e-12, "adjoint of a row against its change");
    return TAP_PASS;
}

/* ---- rules ---- */

static void sources_of(int n, const double *e, const double *w, struct phys_source *out)
{
    memset(out, 0, (size_t)n * sizeof *out);
    for (int j = 0; j < n; j++) {
        out[j].inverse_wavelength = 1 + e[j];
        out[j].weight = w[j];
    }
}

/* Sums over the points of a rule against those over all lines. */
static int powers_of_rules(void)
{
    for (int kind = FLAT; kind < SPECTRA; kind++) {
        double e[LINES], w[LINES];
        const int n = make_lines(kind, e, w);
        struct phys_source source[LINES];
        struct worst worst = {0};
        struct rules rules;

        sources_of(n, e, w, source);
        rules_make(n, source, 1, &rules);
        tap_check(rules.most == (kind == TWO ? 1 : RULE_MOST),
                  "%s: rules of up to %d points", spectra[kind], rules.most);
        for (int points = 1; points <= rules.most; points++)
            for (int power = 0; power < 2 * points; power++) {
                double sum = 0, found = 0, size = 0;

                for (int j = 0; j < n; j++) {
                    sum += w[j] * pow(e[j], power);
                    size += w[j] * pow(fabs(e[j]), power);
                }
                for (int i = 0; i < points; i++)
                    found += rules.weight[rules_point(points, i)]
                             * pow(rules.at[rules_point(points, i)], power);
                worst_add(&worst, found, sum, size);
            }
        worst_check(&worst, 1e-13, "%s: moments by rules", spectra[kind]);
    }
    return TAP_PASS;
}

/* Adds the difference of fourth order of the points of all rules to `change`: places, then
 * weights. Line j moves by its energy, or by its weight. */
static void move_rules(int n, const struct phys_source *source, int j, int energy,
                       double *change)
{
    static const double factor[] = {1 / 12.0, -2 / 3.0, 0, 2 / 3.0, -1 / 12.0};
    const double step = energy ? 1e-6 : 1e-3 * source[j].weight;

    memset(change, 0, 2 * RULE_POINTS * sizeof *change);
    for (int k = 0; k < 5; k++) {
        struct phys_source moved[LINES];
        struct rules rules;

        memcpy(moved, source, (size_t)n * sizeof *moved);
        if (energy)
            moved[j].inverse_wavelength += (k - 2) * step;
        else
            moved[j].weight += (k - 2) * step;
        rules_make(n, moved, 1, &rules);
        for (int i = 0; i < RULE_POINTS; i++) {
            change[i] += factor[k] * rules.at[i] / step;
            change[RULE_POINTS + i] += factor[k] * rules.weight[i] / step;
        }
    }
}

static int slopes_of_rules(void)
{
    for (int kind = FLAT; kind <= SPIKY; kind++) {
        double e[LINES], w[LINES], by_e[2 * RULE_POINTS], by_w[2 * RULE_POINTS];
        const int n = make_lines(kind, e, w);
        struct phys_source source[LINES];
        struct worst worst[4] = {{0}};
        struct rules rules;

        sources_of(n, e, w, source);
        rules_make(n, source, 1, &rules);
        for (int j = 3; j < n; j += 19) {
            move_rules(n, source, j, 1, by_e);
            move_rules(n, source, j, 0, by_w);
            for (int points = 1; points <= rules.most; points++)
                for (int i = 0; i < points; i++) {
                    const int p = rules_point(points, i);
                    const struct rule_slopes d =
                        rules_slopes(&rules, points, i, source + j, 1);

                    worst_add(worst, d.at_e, by_e[p], 1);
                    worst_add(worst + 1, d.at_w * w[j], by_w[p] * w[j], 0.01);
                    worst_add(worst + 2, d.weight_e, by_e[RULE_POINTS + p], w[j] / 0.01);
                    worst_add(worst + 3, d.weight_w, by_w[RULE_POINTS + p], 1);
                }
        }
        for (int k = 0; k < 4; k++)
            worst_check(worst + k, 1e-6, "%s: slopes of rules, %d", spectra[kind], k);
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"rows_of_spectra", rows_of_spectra},
        {"powers_of_rules", powers_of_rules},
        {"slopes_of_rules", slopes_of_rules},
        {"lines_of_rows", lines_of_rows},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
