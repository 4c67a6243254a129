/*
 * ladder.c - time against size: pixels, mosaic domains, sources and cells along an edge,
 * one at a time; and against threads, where the bits must not change.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"

/* cost per evaluation over an axis, largest over smallest; two threads over one */
static const double spread_allowed = 1.2, speedup_wanted = 1.9;

/* sizes for 10^6 ... 10^10 evaluations. Pixels in whole tiles, so that the first steps do
 * not show the cut tiles at the edges */
enum { DECADES = 5 };

static const int sides[DECADES][2] = {{64, 32},
                                      {160, 128},
                                      {512, 400},
                                      {1600, 1280},
                                      {5120, 4000}};
static const int counts[DECADES] = {61, 610, 6100, 61000, 610000};
static const int cells[] = {5, 10, 20, 50, 100, 200, 500, 1000};

enum axis { PIXELS, DOMAINS, SOURCES, CELLS, AXES };

static const struct {
    const char *name, *label;
} axes[AXES] = {{"pixels", "pixels (500 evaluations each)"},
                {"domains", "mosaic domains (16384 pixels)"},
                {"sources", "sources (16384 pixels)"},
                {"cells", "cells along a, b, c (819200 evaluations)"}};

/* step i of an axis: case B of other sizes; returns the place on the axis */
static double step(enum axis axis, int i, struct bench_case *c)
{
    *c = cases_list[1];
    c->nfast = c->nslow = 128;
    switch (axis) {
    case PIXELS:
        c->nfast = sides[i][0];
        c->nslow = sides[i][1];
        c->dispersion = 1;
        c->nsource = 10;
        return (double)c->nfast * c->nslow;
    case DOMAINS:
        return c->ndomains = counts[i];
    case SOURCES:
        c->mosaic = 0;
        c->ndomains = 1;
        c->dispersion = 1;
        return c->nsource = counts[i];
    default:
        return c->ncells = cells[i];
    }
}

static int steps_of(enum axis axis, const struct options *options)
{
    if (options->quick) return 2;
    if (axis == CELLS) return (int)(sizeof cells / sizeof *cells);
    return options->longer ? DECADES : DECADES - 1;
}

/* one more point; 0 when it cannot be computed */
static int add_point(struct series *series, const struct options *options, double x,
                     const struct bench_case *c)
{
    const double budget = options->quick ? 0.02 : 1;
    struct manner manner = {0};
    struct library lib;
    const int n = series->n;

    manner.options.precision = series->precision;
    manner.options.strategy = NB_LANES;
    manner.threads = options->threads;
    series->x[n] = x;
    series->seconds[n] = 0;
    if (library_open(&lib, c, &manner)) {
        const nb_description *d = &lib.description;

        series->evaluations[n] = d->evaluations;
        series->small[n] = d->tiles > 0 ? (double)d->tiles_small / d->tiles : 0;
        series->precise[n] = d->tiles > 0 ? (double)d->tiles_double / d->tiles : 0;
        series->seconds[n] = library_time(&lib, options->repeat, budget);
    }
    if (series->seconds[n] > 0)
        series->n++;
    else
        (void)snprintf(series->said, sizeof series->said, "%s", lib.said);
    library_close(&lib);
    return series->n > n;
}

static void print_series(const struct series *series)
{
    char text[16];

    (void)printf("\n%s, %s\n", series->label, precision_word(series->precision));
    for (int i = 0; i < series->n; i++) {
        (void)printf("  %10.0f  %8.2g evaluations  %8s  %7.3f ns each", series->x[i],
                     series->evaluations[i],
                     seconds_text(series->seconds[i], text, sizeof text),
                     1e9 * series->seconds[i] / series->evaluations[i]);
        if (series->precision == NB_SINGLE && series->small[i] + series->precise[i] > 0)
            (void)printf("  tiles: %.0f%% divided, %.0f%% double", 100 * series->small[i],
                         100 * series->precise[i]);
        (void)putchar('\n');
    }
    if (*series->said) (void)printf("  not run: %.80s\n", series->said);
    if (series->n > 1)
        (void)printf("  cost of an evaluation: largest %.2f x the smallest, allowed %.2f: "
                     "%s\n",
                     series->spread, spread_allowed,
                     series->flat > 0   ? "flat"
                     : series->flat < 0 ? TOO_BUSY
                                        : "NOT FLAT");
    (void)fflush(stdout);
}

static void run_series(struct report *report, enum axis axis, int precision)
{
    struct series *series = &report->series[report->nseries++];
    double least = 0, most = 0;

    *series = (struct series){.axis = axes[axis].name, .label = axes[axis].label};
    series->precision = precision;
    for (int i = 0; i < steps_of(axis, report->options); i++) {
        struct bench_case c;
        const double x = step(axis, i, &c);

        if (!add_point(series, report->options, x, &c)) break;
    }
    for (int i = 0; i < series->n; i++) {
        const double cost = series->seconds[i] / series->evaluations[i];

        if (i == 0 || cost < least) least = cost;
        if (i == 0 || cost > most) most = cost;
    }
    series->spread = least > 0 ? most / least : 0;
    series->flat = series->spread <= spread_allowed;
    if (!series->flat && machine_is_busy()) series->flat = -1;
    print_series(series);
}

/* ---- threads ---- */

static int same_bits(const struct library *a, const struct library *b)
{
    const size_t n = (size_t)a->description.nslow * (size_t)a->description.nfast;

    return memcmp((const char *)a->pixels, (const char *)b->pixels, n * sizeof *a->pixels)
           == 0;
}

/* one thread and several in turn */
static void measure_scale(struct scale *scale, struct library *one, struct library *many,
                          int repeat)
{
    enum { MOST = 16 };
    double alone[MOST], together[MOST];
    int n = 0;

    while (n < repeat && n < MOST) {
        alone[n] = library_run(one, NULL);
        together[n] = library_run(many, NULL);
        n++;
    }
    scale->seconds = timing_median(together, n);
    scale->speedup = timing_median(alone, n) / scale->seconds;
    scale->same = same_bits(one, many);
}

static void print_scale(const struct scale *scale)
{
    char text[16];

    const char *verdict =
        verdict_text(scale->speedup >= speedup_wanted, "reached", "NOT REACHED");

    (void)printf("  %-6s %3d threads  %9s  %6.3f x one%s%s  %s\n",
                 precision_word(scale->precision), scale->threads,
                 seconds_text(scale->seconds, text, sizeof text), scale->speedup,
                 scale->threads == 2 ? ", wanted 1.9: " : "",
                 scale->threads == 2 ? verdict : "",
                 scale->same ? "same bits" : "DIFFERENT BITS");
    (void)fflush(stdout);
}

static void run_scale(struct report *report, const struct bench_case *c, int precision,
                      int threads)
{
    struct scale *scale = &report->scales[report->nscales];
    struct manner manner = {0};
    struct library one, many;

    *scale = (struct scale){.precision = precision, .threads = threads};
    manner.options.precision = precision;
    manner.options.strategy = NB_LANES;
    manner.threads = manner.wall = 1;
    if (library_open(&one, c, &manner)) {
        manner.threads = threads;
        if (library_open(&many, c, &manner)) {
            measure_scale(scale, &one, &many, report->options->repeat);
            print_scale(scale);
            report->nscales++;
        } else
            (void)printf("  not run: %.80s\n", many.said);
        library_close(&many);
    } else
        (void)printf("  %-6s not run: %.80s\n", precision_word(precision), one.said);
    library_close(&one);
}

/* 1, 2, 4 ... and all cores */
static void threads_run(struct report *report)
{
    const struct bench_case *c = &cases_list[report->options->quick ? 1 : 3];

    (void)printf("\nthreads, case %c; cores that this process may use: %d\n", c->letter,
                 report->cores);
    for (int precision = NB_DOUBLE; precision <= NB_SINGLE; precision++)
        for (int threads = 1;;) {
            run_scale(report, c, precision, threads);
            if (threads >= report->cores) break;
            threads = threads < (report->cores + 1) / 2 ? 2 * threads : report->cores;
        }
}

void ladder_run(struct report *report)
{
    (void)printf("\nladder: lanes, median of %d, %d threads\n", report->options->repeat,
                 report->options->threads);
    for (int axis = 0; axis < AXES; axis++)
        for (int precision = NB_DOUBLE; precision <= NB_SINGLE; precision++)
            run_series(report, (enum axis)axis, precision);
    threads_run(report);
}
