/*
 * figures.c - cases A to I: in the library and as whole processes, against our own scalar
 * build, the roof of the machine and, by way of libm's sin(), nanoBragg.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "measure/process.h"

enum { TILE_SLOW = 8 }; /* rows of a tile: a part of an image is cut along tiles */

/* what a run may take: evaluations of the lanes, of their scalar build, and seconds */
static const struct limits {
    double evaluations, scalar, seconds;
} limits_all[] = {{3e8, 5e6, 3}, {5e5, 1e5, 0.02}};

static const struct limits *limits_of(const struct options *options)
{
    return &limits_all[options->quick];
}

/* The case with fewer rows about the middle, so that it has at most `most` evaluations or
 * a single row of tiles. Lanes cost the same everywhere in an image; spots do not. */
static struct bench_case cut(const struct row *row, double most, double *part)
{
    struct bench_case less = *row->c;
    int rows = (int)(less.nslow * most / row->evaluations) / TILE_SLOW * TILE_SLOW;

    *part = 1;
    if (rows < TILE_SLOW) rows = TILE_SLOW;
    if (rows >= less.nslow || row->strategy == NB_SPOTS) return less;
    *part = (double)rows / less.nslow;
    less.nslow = rows;
    return less;
}

/* seconds for the whole image by the kernels of an instruction set, NULL: the best */
static double time_library(struct row *row, const char *isa, double most,
                           const struct options *options)
{
    const struct bench_case less = cut(row, most, &row->part);
    struct manner manner = {0};
    struct library lib;
    double seconds = 0;

    manner.profile = row->profile;
    manner.options.precision = row->precision;
    manner.options.strategy = row->strategy;
    manner.threads = options->threads;
    manner.hkl = options->hkl;
    manner.isa = isa;
    if (library_open(&lib, &less, &manner)) {
        (void)snprintf(row->kernel, sizeof row->kernel, "%s", lib.description.kernel);
        row->tiles = lib.description.tiles;
        row->tiles_small = lib.description.tiles_small;
        row->tiles_double = lib.description.tiles_double;
        seconds = library_time(&lib, options->repeat, limits_of(options)->seconds);
    }
    if (seconds == 0)
        (void)snprintf(row->said, sizeof row->said, "%s%s%.140s", isa ? isa : "",
                       isa ? ": " : "", lib.said);
    library_close(&lib);
    return seconds / row->part;
}

static double time_program(struct row *row, struct report *report)
{
    const struct options *options = report->options;
    enum { MOST = 16 };
    struct command command = {0};
    struct process p;
    double times[MOST];
    int n = 0;

    command_add(&command, "%s", options->program);
    cases_command(row->c, options->hkl, &command);
    command_image(&command);
    command_manner(&command, row->precision, row->strategy);
    process_environment(options->threads, row->profile == NB_PROFILE_NANOBRAGG);
    do {
        p = process_run(&command, NULL, (size_t)row->c->nslow * (size_t)row->c->nfast,
                        3600);
        if (!p.ok) {
            (void)snprintf(row->said, sizeof row->said, "program: %.140s", p.said);
            report_failure(report, options->program, p.said);
            return 0;
        }
        times[n++] = p.seconds;
    } while (n < options->repeat && n < MOST && p.seconds < limits_of(options)->seconds);
    return timing_median(times, n);
}

/* Multiplications and multiply-adds of one evaluation: finding the place in reciprocal
 * space and F there, then the lattice factor, counted in the machine code by
 * bench/operations.sh. They share the same pipelines; additions, roundings, divisions and
 * loads have others on most cores and are left out, so the roof is a bound. */
static double operations(const struct row *row)
{
    static const double site[] = {[0] = 9, [NB_NEAREST] = 11, [NB_TRICUBIC] = 72};
    static const double square[2] = {62, 44}, gauss[2] = {31, 26};

    if (row->strategy != NB_LANES) return 0;
    return site[row->c->interpolate]
           + (row->c->shape == NB_SQUARE ? square : gauss)[row->precision];
}

static double per_sine(const struct row *row, double seconds, int threads)
{
    return seconds > 0 ? row->evaluations / seconds / threads / row->machine.sines : 0;
}

static void compare_with_nanobragg(struct row *row, int threads)
{
    const struct bench_case *c = row->c;

    row->library_per_sine = per_sine(row, row->library, threads);
    row->program_per_sine = per_sine(row, row->program, threads);
    if (c->nanobragg > 0) {
        row->library_times = row->library_per_sine / c->nanobragg;
        row->program_times = row->program_per_sine / c->nanobragg;
    }
    if (row->profile != NB_PROFILE_NANOBRAGG) {
        if (row->strategy == NB_SPOTS) row->target_seconds = c->own_seconds[row->precision];
        return;
    }
    if (row->strategy == NB_LANES) row->target_times = c->target[row->precision];
    if (row->strategy == NB_SPOTS) {
        row->target_times = c->spots_target;
        row->target_seconds = c->spots_seconds;
    }
}

static void measure(struct row *row, struct report *report)
{
    const struct options *options = report->options;
    const struct limits *limits = limits_of(options);

    row->machine = machine_measure(options->quick);
    row->scalar = time_library(row, "scalar", limits->scalar, options);
    if (row->scalar > 0) row->said[0] = 0;
    row->library =
        time_library(row, NULL, options->longer ? row->evaluations : limits->evaluations,
                     options);
    if (row->library > 0 && (row->part == 1 || options->quick))
        row->program = time_program(row, report);
    row->roof = operations(row) * row->evaluations / row->machine.peak[row->precision]
                / options->threads;
    compare_with_nanobragg(row, options->threads);
}

/* ---- the table ---- */

static void print_heading(void)
{
    (void)puts(
        "\n                       |            library, image after image            |"
        "   program, whole process\n"
        "case                   |     time Meval/s cycles scalar roof   x nB |"
        "     time  / sin target  x nB");
}

/* a number in a column of a given width, '-' where there is none */
static void print_number(int width, int digits, double value, const char *after)
{
    if (value >= 100 && digits > 1) digits = 1;
    if (value >= 1000) digits = 0;
    if (value > 0)
        (void)printf(" %*.*f%s", width, digits, value, after);
    else
        (void)printf(" %*s%*s", width, "-", (int)strlen(after), "");
}

static void print_row(const struct row *row, const struct options *options)
{
    const double per_core = row->library * options->threads;
    char text[16];

    (void)printf("%c %-7s %-6s %-5s%s%s|", row->c->letter,
                 row->profile == NB_PROFILE_NANOBRAGG ? "compat" : "default",
                 precision_word(row->precision), strategy_word(row->strategy),
                 row->is_auto ? "*" : " ", row->part < 1 ? "~" : " ");
    if (row->library == 0) {
        (void)printf(" not run: %.64s\n", row->said);
        return;
    }
    (void)printf(" %8s", seconds_text(row->library, text, sizeof text));
    print_number(7, 0, 1e-6 * row->evaluations / row->library, "");
    print_number(6, 2, per_core * row->machine.hertz / row->evaluations, "");
    print_number(6, 1, row->scalar / row->library, "");
    print_number(3, 0, 100 * row->roof / row->library, "%");
    print_number(6, 1, row->library_times, "");
    (void)printf(" | %8s", seconds_text(row->program, text, sizeof text));
    print_number(6, 2, row->program_per_sine, "");
    if (row->target_seconds > 0)
        (void)printf(" %6s", seconds_text(row->target_seconds, text, sizeof text));
    else
        print_number(6, 2, row->target_times * row->c->nanobragg, "");
    print_number(5, 1, row->program_times, "");
    (void)putchar('\n');
    if (*row->said) (void)printf("  (%.90s)\n", row->said);
}

static void print_legend(const struct report *report)
{
    const struct machine *m = &report->machine;

    (void)printf("* what auto takes   ~ a part of the image, scaled up\n"
                 "cycles  of a core of %.2f GHz, for an evaluation\n"
                 "scalar  times as fast as the same loops not vectorised\n"
                 "roof    share of the peak: %.1f (double) or %.1f (float) multiply-adds a "
                 "cycle with %s\n"
                 "/ sin   evaluations for each libm sin(), %.1f million a second; target: "
                 "to be reached\n"
                 "x nB    times nanoBragg.c's evaluations for each sin(), whole process\n",
                 1e-9 * m->hertz, m->peak[NB_DOUBLE] / m->hertz,
                 m->peak[NB_SINGLE] / m->hertz, m->isa, 1e-6 * m->sines);
}

/* ---- all of them ---- */

/* strategy that NB_STRATEGY_AUTO takes, and the evaluations of the case; 0: it cannot run
 */
static int ask(struct row *row, const struct options *options)
{
    struct manner manner = {0};
    struct library lib;
    int strategy = NB_STRATEGY_AUTO;

    manner.profile = row->profile;
    manner.options.precision = row->precision;
    manner.threads = 1;
    manner.hkl = options->hkl;
    if (library_open(&lib, row->c, &manner)) {
        row->evaluations = lib.description.evaluations;
        strategy = lib.description.strategy;
    }
    (void)snprintf(row->said, sizeof row->said, "%s", lib.said);
    library_close(&lib);
    return strategy;
}

static void add_rows(struct report *report, const struct bench_case *c, int profile)
{
    for (int precision = NB_DOUBLE; precision <= NB_SINGLE; precision++) {
        struct row first = {.c = c, .profile = profile, .precision = precision};
        const int best = ask(&first, report->options);

        for (int s = NB_LANES; s <= NB_SPOTS; s++) {
            struct row *row = &report->rows[report->nrows];

            if ((s == NB_SPOTS && c->shape == NB_SQUARE) || report->nrows == ROWS) continue;
            *row = first;
            row->strategy = s;
            row->is_auto = s == best;
            if (best != NB_STRATEGY_AUTO) measure(row, report);
            print_row(row, report->options);
            (void)fflush(stdout);
            report->nrows++;
        }
    }
}

void figures_run(struct report *report)
{
    const struct options *options = report->options;

    print_heading();
    for (size_t i = 0; i < cases_count; i++) {
        const struct bench_case *c = &cases_list[i];

        if (!strchr(options->letters, c->letter)) continue;
        if (c->own_seconds[NB_DOUBLE] == 0) add_rows(report, c, NB_PROFILE_NANOBRAGG);
        /* the profiles differ in the width of the spots */
        if (c->shape == NB_GAUSS) add_rows(report, c, NB_PROFILE_NANOBRAG);
    }
    print_legend(report);
}
