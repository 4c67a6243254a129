/*
 * bench_compile.c - see bench_compile.h: which scenes are compared and for how long, the
 * table, and the verdict.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cli/bench_compile/bench_compile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/timing.h"

static const struct bench_effort efforts[] = {
    {"quick", 5, 101, 0.05},
    {"verify", 0, 0, 0},
    {"full", 9, BENCH_TIMES_MOST, 0.4},
};

/* On a quiet machine the median stays below this multiple of the least time. */
#define BENCH_SPREAD 1.5
#define BENCH_SHARE  0.8

const char *bench_compile_replaced(const struct settings *s)
{
    for (int i = 0; i < OPT_COUNT; i++)
        if (s->given[i]
            && (option_at(i)->group <= GROUP_BACKGROUND || i == OPT_STRATEGY
                || i == OPT_TOLERANCE || i == OPT_PARAM))
            return option_at(i)->name;
    return NULL;
}

int bench_compile_builtin(const struct settings *s)
{
    return s->given[OPT_BENCH_COMPILE] && !bench_compile_replaced(s);
}

const char *bench_operation_word(int operation)
{
    return operation == OPERATION_IMAGE ? "image" : "gradient";
}

const char *bench_precision_word(int precision)
{
    return precision == NB_SINGLE ? "float" : "double";
}

/* ---- the table ---- */

/* The machine is taken as disturbed if the median is far above the least time. As a
 * neighbour that runs all the time disturbs the least time too, it is also taken as
 * disturbed if the thread had little of a processor; on a quiet machine it has 0.9 to 1 of
 * one. */
int bench_disturbed(const struct bench_row *row)
{
    for (int side = 0; side < SIDES; side++)
        if (row->steady[side] > BENCH_SPREAD * row->least[side]) return 1;
    return row->share < BENCH_SHARE;
}

double bench_speedup(const struct bench_row *row)
{
    const double compiled = row->least[SIDE_COMPILED];
    return compiled > 0 ? row->least[SIDE_EAGER] / compiled : 0;
}

static void print_head(const struct bench *bench)
{
    const int timed = bench->effort.most > 0;
    printf("\n%-17s %-9s %-9s %10s %9s %-6s", "case", "of", "precision", "difference",
           "relative", "bits");
    if (timed)
        printf(" %15s %9s %11s %8s %15s", "first ms", "eager ms", "compiled ms", "speedup",
               "fixed ms");
    printf(" %10s %10s  %s\n%65s", "memory MiB", "plans", "verdict", "");
    if (timed) printf(" %15s %30s %15s", "eager/compiled", "", "eager/compiled");
    printf(" %10s %10s\n", "", "made/found");
}

/* Write "EAGER/COMPILED", two times in ms. */
static void pair_text(char text[32], double eager, double compiled)
{
    snprintf(text, 32, "%.3f/%.3f", eager, compiled);
}

static void print_times(const struct bench_row *row)
{
    const double *const steady = row->steady, *const fixed = row->fixed;
    char first[32], speedup[32], region[32] = "-";
    pair_text(first, fmax(row->first[0] - steady[0], 0),
              fmax(row->first[1] - steady[1], 0));
    snprintf(speedup, sizeof speedup, "%s%.2fx", bench_disturbed(row) ? "~" : "",
             bench_speedup(row));
    if (fixed[SIDE_EAGER] >= 0) pair_text(region, fixed[0], fixed[1]);
    printf(" %15s %9.3f %11.3f %8s %15s", first, steady[0], steady[1], speedup, region);
}

static void print_row(const struct bench *bench, const struct bench_row *row)
{
    const nb_compile_stats *const stats = &row->stats[SIDE_COMPILED];
    char plans[32];
    snprintf(plans, sizeof plans, "%llu/%llu", (unsigned long long)stats->compiles,
             (unsigned long long)stats->hits);
    printf("%-17s %-9s %-9s %10.2e %9.2e %-6s", row->name,
           bench_operation_word(row->operation), bench_precision_word(row->precision),
           row->difference, row->relative, row->equal ? "equal" : "differ");
    if (bench->effort.most > 0) print_times(row);
    printf(" %10.2f %10s  %s", (double)stats->bytes / (1 << 20), plans,
           row->fails ? "FAIL" : "PASS");
    printf("\n");
}

static const char legend[] =
    "difference: mean of |compiled - eager|, photons; relative: over the mean of |eager|;\n"
    "of a gradient each entry times the parameter's scale. Other bits pass up to relative\n"
    "1e-13 in double, 1e-6 in float. memory: of the compiled simulator; plans: made/found\n"
    "again\n";

static const char legend_times[] =
    "first: what making the simulator and its first call take beyond a later call; eager,\n"
    "compiled: medians; speedup: of the least times, which other programs disturb less;\n"
    "fixed: medians of a region of one pixel\n";

/* Returns why a case was not compiled, or NULL if it was. */
static const char *why_eager(const struct run *run)
{
    if (run->sim && run->description.strategy == NB_REFERENCE)
        return "the strategy reference always runs uncompiled";
    if (compiling_off_by()) return compiling_off_by();
    return run->s->compile == NB_COMPILE_OFF ? "-compile off" : NULL;
}

static void print_start(const struct bench *bench)
{
    const struct run *run = bench->run;
    const char *const why = why_eager(run);
    printf("compiled (%s) against eager, %d threads, %s\n", compiling_word(run->s->compile),
           nb_context_threads(run->ctx), bench->effort.word);
    if (why) printf("eager against eager: %s\n", why);
    if (run->s->compat) printf("no image is written\n");
    (void)fflush(stdout);
}

static void print_end(const struct bench *bench)
{
    int disturbed = 0;
    for (int i = 0; i < bench->nrow; i++) disturbed += bench_disturbed(&bench->rows[i]);
    printf("\n%s%s", legend, bench->effort.most > 0 ? legend_times : "");
    if (disturbed > 0)
        printf(
            "~ in %d rows: a median was more than %g times the least, or the program had "
            "less than\n%g of a processor: the machine was busy, such times say little\n",
            disturbed, BENCH_SPREAD, BENCH_SHARE);
    printf("%d comparisons, %d failures, %.1f s\n", bench->nrow, bench->failures,
           bench->seconds);
}

/* ---- cases ---- */

static int step(struct bench *bench, const struct bench_case *c)
{
    struct run *run = bench->run;
    for (int i = 0; i < bench->nprecision; i++) {
        const int first = bench->nrow;
        if (progress_line_show(&run->progress, (double)i / bench->nprecision))
            return EXIT_INTERRUPTED;
        const int code = bench_run(bench, c, bench->precisions[i]);
        progress_line_end(&run->progress);
        if (code) return code;
        for (int k = first; k < bench->nrow; k++) {
            if (!run->s->quiet) print_row(bench, &bench->rows[k]);
            bench->failures += bench->rows[k].fails;
        }
        (void)fflush(stdout);
    }
    return 0;
}

/* Visit the scene of the command line, or all own scenes. The option -param changes the
 * resolved scene, which with quirks differs slightly from the given one. */
static int each_case(struct bench *bench, const char *what,
                     int visit(struct bench *, const struct bench_case *))
{
    struct run *run = bench->run;
    int code = 0;
    for (int i = 0; i < bench->ncase && !code; i++) {
        struct bench_case c = {.name = "command line",
                               .scene = run->params.nset ? run->resolved : run->s->scene,
                               .how = run->s->how};
        nb_status status = NB_OK;
        progress_line_part(&run->progress, what, i, bench->ncase);
        if (bench_compile_builtin(run->s)) status = bench_case_make(run->ctx, i, &c);
        code = status == NB_OK
                   ? visit(bench, &c)
                   : message_status(run->messages, status, nb_context_message(run->ctx), 0);
        bench_case_free(&c);
    }
    progress_line_end(&run->progress);
    return code;
}

static int start(struct bench *bench)
{
    const struct settings *s = bench->run->s;
    const char *const word = s->bench_compile ? s->bench_compile : efforts[0].word;
    for (size_t i = 0; i < sizeof efforts / sizeof *efforts; i++)
        if (strcmp(efforts[i].word, word) == 0) bench->effort = efforts[i];
    bench->nprecision = 2;
    bench->precisions[0] = NB_DOUBLE;
    bench->precisions[1] = NB_SINGLE;
    if (s->given[OPT_PRECISION]) {
        bench->nprecision = 1;
        bench->precisions[0] = s->how.precision;
    } else if (s->how.strategy == NB_REFERENCE)
        bench->nprecision = 1; /* the reference is in double only */
    bench->ncase = bench_compile_builtin(s) ? bench_cases_count() : 1;
    bench->rows = calloc((size_t)bench->ncase * (size_t)bench->nprecision * OPERATIONS,
                         sizeof *bench->rows);
    return bench->rows ? 0 : message_failure(bench->run->messages, "out of memory");
}

static void print_expected(const struct bench *bench)
{
    const double seconds = bench->expected;
    printf("about %.0f %s by the first calls\n",
           ceil(seconds < 100 ? seconds : seconds / 60), seconds < 100 ? "s" : "min");
    print_head(bench);
    (void)fflush(stdout);
}

/* ---- the verdict ---- */

/* Print what fails. Returns the exit status. */
static int verdict(const struct bench *bench)
{
    int code = EXIT_DONE;
    for (int i = 0; i < bench->nrow; i++) {
        const struct bench_row *const row = &bench->rows[i];
        char why[80];
        if (!row->fails) continue;
        snprintf(why, sizeof why, "relative difference %.3g, allowed %.3g", row->relative,
                 row->allowed);
        for (int side = 0; side < SIDES; side++)
            if (!row->repeats[side])
                snprintf(why, sizeof why, "%s calls do not repeat their bits",
                         side == SIDE_EAGER ? "eager" : "compiled");
        code = message_failure(bench->run->messages, "-bench_compile: %s, %s in %s: %s",
                               row->name, bench_operation_word(row->operation),
                               bench_precision_word(row->precision), why);
    }
    if (code == EXIT_DONE && !bench->run->s->quiet) printf("every comparison passes\n");
    return code;
}

static int conclude(struct bench *bench, int code)
{
    const struct settings *s = bench->run->s;
    if (code == EXIT_INTERRUPTED) {
        (void)fflush(stdout);
        fprintf(stderr, "nanobrag: interrupted after %d comparisons; no file was written\n",
                bench->nrow);
    }
    if (code) return code;
    if (!s->quiet) print_end(bench);
    if (s->json) code = bench_json_write(bench, s->json);
    const int judged = verdict(bench);
    return judged ? judged : code;
}

int bench_compile(struct run *run)
{
    struct bench bench = {.run = run};
    const double begun = timing_seconds();
    int code = start(&bench);
    if (!code && !run->s->quiet) print_start(&bench);
    /* this also starts the threads, before anything is timed */
    if (!code) code = each_case(&bench, "estimate", bench_expect);
    if (!code && !run->s->quiet) print_expected(&bench);
    if (!code) code = each_case(&bench, bench.ncase > 1 ? "case" : "comparison", step);
    bench.seconds = timing_seconds() - begun;
    code = conclude(&bench, code);
    free(bench.rows);
    return code;
}
