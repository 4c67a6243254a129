/*
 * test_continuous_samples.c - the loops over samples of the continuous strategy: every kind
 * of profile against quadrature in long double, its derivatives against differences of
 * that, the adjoint against the tangent, and every instruction set and precision against
 * the others.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "continuous_oracle.h"
#include "kernels/kernels.h"
#include "support/tap.h"
#include "support/worst.h"

enum { ROWS = 40, PIXELS = 1200, LINES = 100, WAYS = 3 };

static const char *const kinds[] = {"still", "range", "table"};

/* A spot: its profile, its rows and the spectrum of a table. */
struct subject {
    struct profile profile;
    int over, nrows;
    struct sample_row rows[ROWS];
    struct spectral_lines lines;
    struct spectrum_row row;
    double e[LINES], w[LINES];
};

static void fill_polynomial(double *c, int n, double size, unsigned *seed)
{
    for (int k = 1; k < n; k++) c[k] = size * oracle_uniform(seed) / (k > 5 ? 8 : 2);
}

/* Rows of `samples` sub-pixels across the unit disc, begun at whole pixels. Each has pixels
 * of its own. */
static void make_rows(struct subject *s, int samples, unsigned *seed)
{
    const double step = 2.0 / samples;
    size_t pixel = 3;

    s->nrows = samples;
    for (int i = 0; i < samples; i++) {
        const double b = -1 + (i + 0.5) * step, reach = sqrt(1 - b * b);
        const int n = (int)ceil(2 * reach / step / s->over) * s->over;

        s->rows[i] =
            (struct sample_row){-reach + 0.3 * step * oracle_uniform(seed),
                                step * (1 + 0.01 * oracle_uniform(seed)), b, n, pixel};
        pixel += (size_t)(n / s->over) + 1;
    }
    if (pixel > PIXELS) abort();
}

/* `widths`: half of the range in widths of the spot. */
static void make_subject(struct subject *s, int kind, int over, double widths,
                         unsigned seed)
{
    const double width = kind == PROFILE_TABLE ? 4e-4 : 3e-3, r0 = 1 / width;
    double *c = s->profile.c;

    memset(s, 0, sizeof *s);
    s->over = over;
    make_rows(s, 24 + (int)(seed % 7), &seed);
    s->profile.kind = kind;
    c[SPOT_L] = -20 + oracle_uniform(&seed);
    fill_polynomial(c + SPOT_L, 15, 1, &seed);
    c[SPOT_L + 3] -= 3;
    c[SPOT_L + 5] -= 7;
    if (kind == PROFILE_STILL) return;
    s->profile.half = widths * width;
    c[SPOT_H] = r0 * r0;
    fill_polynomial(c + SPOT_M, 15, 0.3 * width, &seed);
    c[SPOT_M] = 0.3 * width;
    c[SPOT_M + 1] = kind == PROFILE_TABLE ? 9e-3 : widths * width;
    fill_polynomial(c + SPOT_H, 6, kind == PROFILE_TABLE ? 0.03 : 0.2, &seed);
    for (int k = 1; k < 6; k++) c[SPOT_H + k] *= r0 * r0;
    for (int k = 0; k < 3; k++) {
        c[SPOT_L3 + k] = 0.3 * r0 * r0 * r0 * oracle_uniform(&seed);
        c[SPOT_L4 + k] = 0.3 * r0 * r0 * r0 * r0 * oracle_uniform(&seed);
    }
    if (kind == PROFILE_RANGE) return;
    for (int i = 0; i < LINES; i++) {
        s->e[i] = 0.02 * (i / (LINES - 1.0) - 0.5);
        s->w[i] = (1 + 0.9 * oracle_uniform(&seed)) / LINES;
    }
    if (!spectrum_make(&s->lines, LINES, s->e, s->w, 4e-8, 1e-4, 2e-3)
        || !spectrum_row(&s->lines, 1.001 * width * width, &s->row))
        abort();
    s->profile.row = &s->row;
}

static void free_subject(struct subject *s)
{
    spectrum_free(&s->lines);
    spectrum_row_free(&s->row);
}

/* Sizes of changes of which each changes log I by about 1. */
static void make_change(const struct subject *s, unsigned *seed, struct profile_change *dot)
{
    const double h = s->profile.c[SPOT_H], r = s->profile.kind ? sqrt(h) : 0;
    const double unit = 0.3;

    memset(dot, 0, sizeof *dot);
    for (int k = 0; k < SPOT_COEFFICIENTS; k++) {
        const double size = k < SPOT_M                         ? 1
                            : s->profile.kind == PROFILE_STILL ? 0
                            : k < SPOT_H                       ? 1 / r
                            : k < SPOT_L3                      ? 0.1 * h
                            : k < SPOT_L4                      ? 0.3 * r * h
                                                               : 0.3 * h * h;

        dot->c[k] = unit * size * oracle_uniform(seed);
    }
    if (s->profile.kind == PROFILE_RANGE) dot->half = unit * s->profile.half;
}

static void add_pixels(struct worst *worst, const double *found, const long double *truth)
{
    double peak = 0;

    for (int i = 0; i < PIXELS; i++) peak = fmax(peak, (double)fabsl(truth[i]));
    for (int i = 0; i < PIXELS; i++) worst_add(worst, found[i], (double)truth[i], peak);
}

/* ---- values ---- */
static int values_of_kinds(void)
{
    static long double truth[PIXELS];
    static double found[PIXELS];

    for (int kind = PROFILE_STILL; kind <= PROFILE_TABLE; kind++) {
        struct worst worst[2] = {{.count = 0}};

        for (int i = 0; i < 12; i++) {
            struct subject s;

            make_subject(&s, kind, 1 + i % 3, 0.7 + i, (unsigned)i + 1);
            oracle_image(&s.profile, NULL, 0, s.over, s.nrows, s.rows, PIXELS, truth);
            for (int single = 0; single < 2; single++) {
                const struct kernel_set set = kernels_lanes("");

                memset(found, 0, sizeof found);
                (single ? set.continuous_single : set.continuous_precise)
                    ->draw(&s.profile, s.over, s.nrows, s.rows, 1, found);
                add_pixels(worst + single, found, truth);
            }
            free_subject(&s);
        }
        worst_check(worst, 1e-12, "%s: values of the pixel's peak, double", kinds[kind]);
        worst_check(worst + 1, 2e-6, "%s: values of the pixel's peak, float", kinds[kind]);
    }
    return TAP_PASS;
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

static int far_from_the_range(void)
{
    static const double widths[] = {0.05, 1.3, 8, 300};
    struct worst worst[2] = {{.count = 0}};
    const struct kernel_set set = kernels_lanes("");

    for (int i = 0; i < 4; i++)
        for (int k = -80; k <= 80; k++) {
            struct profile p = {.kind = PROFILE_RANGE, .half = widths[i] * 2e-3};

            p.c[SPOT_L] = -8;
            p.c[SPOT_M] = p.half + k * fabs(k) * 2e-4;
            p.c[SPOT_H] = 1 / 4e-6;
            p.c[SPOT_L3] = 0.2 / 8e-9;
            p.c[SPOT_L4] = -0.2 / 16e-12;
            const double truth = (double)oracle_sample(&p, NULL, 0, 0, 0);
            const double whole = exp(-8) * 2.5066 * 2e-3 / (2 * p.half);

            worst_add(worst, one_sample(set.continuous_precise, &p, 0, 0), truth, whole);
            worst_add(worst + 1, one_sample(set.continuous_single, &p, 0, 0), truth, whole);
        }
    worst_check(worst, 1e-11, "maximum up to 640 widths from the range, double");
    worst_check(worst + 1, 1e-6, "maximum up to 640 widths from the range, float");
    return TAP_PASS;
}

/* Of a range much narrower than the width the moments are differences of equals. */
static int narrow_ranges(void)
{
    static const double widths[] = {1e-3, 1e-2, 0.03, 0.1, 0.3, 1, 2.6};

    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        struct worst worst[2] = {{.count = 0}};
        const struct kernel_set set = kernels_lanes("");

        for (int k = -30; k <= 30; k++) {
            struct profile p = {.kind = PROFILE_RANGE, .half = widths[i] / 2};

            p.c[SPOT_M] = 0.1 * k;
            p.c[SPOT_H] = 1;
            p.c[SPOT_L3] = 0.2;
            p.c[SPOT_L4] = -0.1;
            const double truth = (double)oracle_sample(&p, NULL, 0, 0, 0);

            worst_add(worst, one_sample(set.continuous_precise, &p, 0, 0), truth, truth);
            worst_add(worst + 1, one_sample(set.continuous_single, &p, 0, 0), truth, truth);
        }
        worst_check(worst, 1e-10, "a range of %g widths: of the value, double", widths[i]);
        worst_check(worst + 1, 5e-5 / widths[i],
                    "a range of %g widths: of the value, float", widths[i]);
    }
    return TAP_PASS;
}

/* ---- derivatives ---- */
static void random_grid(const struct subject *s, unsigned *seed, double *grid)
{
    double peak = 0;

    for (int i = 0; i < s->row.n; i++) peak = fmax(peak, s->row.number[i]);
    for (int i = 0; i < SPECTRUM_NUMBERS * s->row.n; i++)
        grid[i] = peak * oracle_uniform(seed);
}

static int changes_of_kinds(void)
{
    static long double truth[WAYS][PIXELS];
    static double pixel[PIXELS], change[WAYS][PIXELS], drawn[PIXELS];

    for (int kind = PROFILE_STILL; kind <= PROFILE_TABLE; kind++) {
        struct worst worst[2] = {{.count = 0}}, same = {0};

        for (int i = 0; i < 6; i++) {
            struct subject s;
            struct profile_change dot[WAYS];
            unsigned seed = 77u + (unsigned)i;
            double *grid;

            make_subject(&s, kind, 1 + i % 3, 0.7 + i, seed);
            grid = calloc((size_t)SPECTRUM_NUMBERS * (size_t)s.row.n + 1, sizeof *grid);
            if (!grid) abort();
            random_grid(&s, &seed, grid);
            for (int d = 0; d < WAYS; d++) make_change(&s, &seed, dot + d);
            if (kind == PROFILE_TABLE) dot[1].grid = grid;
            for (int d = 0; d < WAYS; d++)
                oracle_change(&s.profile, dot + d, s.over, s.nrows, s.rows, PIXELS,
                              truth[d]);
            for (int single = 0; single < 2; single++) {
                const struct kernel_set set = kernels_lanes("");
                const struct continuous_kernels *kernels =
                    single ? set.continuous_single : set.continuous_precise;

                memset(change, 0, sizeof change);
                memset(pixel, 0, sizeof pixel);
                memset(drawn, 0, sizeof drawn);
                kernels->changes(&s.profile, s.over, s.nrows, s.rows, 1,
                                 &(struct spot_changes){WAYS, dot, pixel, change[0],
                                                        PIXELS});
                kernels->draw(&s.profile, s.over, s.nrows, s.rows, 1, drawn);
                for (int j = 0; j < PIXELS && !single; j++)
                    worst_add(&same, pixel[j], drawn[j], drawn[j]);
                for (int d = 0; d < WAYS; d++)
                    add_pixels(worst + single, change[d], truth[d]);
            }
            free(grid);
            free_subject(&s);
        }
        worst_check(worst, 1e-12, "%s: changes of the largest, double", kinds[kind]);
        worst_check(worst + 1, 2e-5, "%s: changes of the largest, float", kinds[kind]);
        worst_check(&same, 1e-15, "%s: pixels beside changes, of each", kinds[kind]);
    }
    return TAP_PASS;
}

/* The products of weights and changes along every single direction are the moments. */
static void compare_adjoint(const struct subject *s, const struct continuous_kernels *k,
                            struct worst *worst, struct worst *grids)
{
    enum { ALL = SPOT_COEFFICIENTS + 2 };
    static struct profile_change dot[ALL];
    static double pixel[PIXELS], change[ALL * PIXELS], weight[PIXELS];
    unsigned seed = 5;
    const int numbers = SPECTRUM_NUMBERS * s->row.n;
    double *grid = calloc(2 * (size_t)numbers + 1, sizeof *grid), *bar = grid + numbers;
    struct spot_moments m = {0};

    if (!grid) abort();
    memset(pixel, 0, sizeof pixel);
    memset(change, 0, sizeof change);
    memset(dot, 0, sizeof dot);
    for (int i = 0; i < PIXELS; i++) weight[i] = 1e30 * oracle_uniform(&seed);
    random_grid(s, &seed, grid);
    for (int d = 0; d < SPOT_COEFFICIENTS; d++) dot[d].c[d] = 1;
    dot[SPOT_COEFFICIENTS].half = 1;
    if (s->profile.kind == PROFILE_TABLE) dot[ALL - 1].grid = grid;
    k->changes(&s->profile, s->over, s->nrows, s->rows, 1,
               &(struct spot_changes){ALL, dot, pixel, change, PIXELS});
    k->moments(&s->profile, s->over, s->nrows, s->rows, weight, &m,
               s->profile.kind == PROFILE_TABLE ? bar : NULL);
    for (int d = -1; d < ALL; d++) {
        const double *image = d < 0 ? pixel : change + (size_t)d * PIXELS;
        double sum = 0, size = 0,
               found = d < 0                    ? m.sum
                       : d < SPOT_COEFFICIENTS  ? m.c[d]
                       : d == SPOT_COEFFICIENTS ? m.half
                                                : 0;

        for (int i = 0; i < numbers && d == ALL - 1; i++) found += bar[i] * grid[i];
        for (int i = 0; i < PIXELS; i++) {
            sum += weight[i] * image[i];
            size += fabs(weight[i] * image[i]);
        }
        worst_add(d == ALL - 1 ? grids : worst, found, sum, size);
    }
    free(grid);
}

static int adjoint_of_kinds(void)
{
    for (int kind = PROFILE_STILL; kind <= PROFILE_TABLE; kind++)
        for (int single = 0; single < 2; single++) {
            struct worst worst = {0}, grids = {0};

            for (int i = 0; i < 9; i++) {
                const struct kernel_set set = kernels_lanes("");
                struct subject s;

                make_subject(&s, kind, 1 + i % 4, 0.7 + i, 31u + (unsigned)i);
                compare_adjoint(&s, single ? set.continuous_single : set.continuous_precise,
                                &worst, &grids);
                free_subject(&s);
            }
            worst_check(&worst, single ? 1e-5 : 1e-12,
                        "%s, %s: moments of the sum of moduli of the transposed changes",
                        kinds[kind], single ? "float" : "double");
            worst_check(&grids, single ? 1e-5 : 1e-12, "%s, %s: the same for the row",
                        kinds[kind], single ? "float" : "double");
        }
    return TAP_PASS;
}

/* ---- instruction sets and batches ---- */
static int sets_agree(void)
{
    static const char *const names[] = {"v2", "v3", "v4", "base"};
    static double image[2][PIXELS];

    for (int kind = PROFILE_STILL; kind <= PROFILE_TABLE; kind++) {
        struct worst worst[2] = {{.count = 0}};
        struct subject s;

        make_subject(&s, kind, 2, 5, 9);
        for (int i = 0; i < 4; i++)
            for (int single = 0; single < 2; single++) {
                const struct kernel_set sets[2] = {kernels_lanes("scalar"),
                                                   kernels_lanes(names[i])};
                double peak = 0;

                if (!sets[1].precise) continue;
                memset(image, 0, sizeof image);
                for (int k = 0; k < 2; k++)
                    (single ? sets[k].continuous_single : sets[k].continuous_precise)
                        ->draw(&s.profile, s.over, s.nrows, s.rows, 3, image[k]);
                peak = worst_largest(image[0], PIXELS);
                worst_add_all(worst + single, image[1], image[0], PIXELS, peak);
            }
        worst_check(worst, 1e-13, "%s: sets against scalar, double", kinds[kind]);
        worst_check(worst + 1, 1e-6, "%s: sets against scalar, float", kinds[kind]);
        free_subject(&s);
    }
    return TAP_PASS;
}

static int batches_agree(void)
{
    static double image[2][PIXELS];

    for (int kind = PROFILE_STILL; kind <= PROFILE_TABLE; kind++)
        for (int single = 0; single < 2; single++)
            for (int over = 1; over <= 3; over++) {
                const struct kernel_set set = kernels_lanes("");
                const struct continuous_kernels *kernels =
                    single ? set.continuous_single : set.continuous_precise;
                struct subject s;

                make_subject(&s, kind, over, 5, 12);
                memset(image, 0, sizeof image);
                kernels->draw(&s.profile, over, s.nrows, s.rows, 3, image[0]);
                for (int i = s.nrows - 1; i >= 0; i--)
                    kernels->draw(&s.profile, over, 1, s.rows + i, 3, image[1]);
                tap_check(bits_same(image[0], image[1], PIXELS),
                          "%s, %s, %d samples: row by row the same bits", kinds[kind],
                          single ? "float" : "double", over);
                free_subject(&s);
            }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"values_of_kinds", values_of_kinds},   {"far_from_the_range", far_from_the_range},
        {"narrow_ranges", narrow_ranges},       {"changes_of_kinds", changes_of_kinds},
        {"adjoint_of_kinds", adjoint_of_kinds}, {"sets_agree", sets_agree},
        {"batches_agree", batches_agree},

    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
