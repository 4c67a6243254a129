/*
 * bench_compile.c - see bench_compile.h: which scenes are compared and for how long, the
 * table, and the verdict.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cli/bench_compile/bench_compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static const char *precision_of(const struct bench_row *row)
{
    return row->precision == NB_SINGLE ? "float" : "double";
}

struct bench_row *bench_row_add(struct bench *bench)
{
    if (bench->nrow == bench->room) {
        const int room = bench->room ? 2 * bench->room : 64;
        struct bench_row *grown = realloc(bench->rows, (size_t)room * sizeof *grown);
        if (!grown) return NULL;
        bench->rows = grown;
        bench->room = room;
    }
    return &bench->rows[bench->nrow++];
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
    printf("%-17s %-9s %-9s %10s %9s %-6s", "case", "of", "precision", "difference",
           "relative", "bits");
    if (timed)
        printf(" %15s %9s %11s %8s %15s", "first ms", "eager ms", "compiled ms", "speedup",
               "fixed ms");
    printf(" %10s %10s  %s\n", "memory MiB", "plans", "verdict");
    printf("%65s", "");
    if (timed) printf(" %15s %30s %15s", "eager/compiled", "", "eager/compiled");
    printf(" %10s %10s\n", "", "made/found");
}

static double above(double first, double steady)
{
    return first > steady ? first - steady : 0;
}

static void print_pair(const double eager_compiled[SIDES])
{
    char text[32];
    snprintf(text, sizeof text, "%.3f/%.3f", eager_compiled[SIDE_EAGER],
             eager_compiled[SIDE_COMPILED]);
    printf(" %15s", text);
}

static void print_times(const struct bench_row *row)
{
    char speedup[32];
    double first[SIDES];
    for (int side = 0; side < SIDES; side++)
        first[side] = above(row->first[side], row->steady[side]);
    print_pair(first);
    snprintf(speedup, sizeof speedup, "%s%.2fx", bench_disturbed(row) ? "~" : "",
             bench_speedup(row));
    printf(" %9.3f %11.3f %8s", row->steady[SIDE_EAGER], row->steady[SIDE_COMPILED],
           speedup);
    if (row->fixed[SIDE_EAGER] >= 0)
        print_pair(row->fixed);
    else
        printf(" %15s", "-");
}

static void print_row(const struct bench *bench, const struct bench_row *row)
{
    const nb_compile_stats *const stats = &row->stats[SIDE_COMPILED];
    char plans[32];
    snprintf(plans, sizeof plans, "%llu/%llu", (unsigned long long)stats->compiles,
             (unsigned long long)stats->hits);
    printf("%-17s %-9s %-9s %10.2e %9.2e %-6s", row->name,
           bench_operation_word(row->operation), precision_of(row), row->difference,
           row->relative, row->equal ? "equal" : "differ");
    if (bench->effort.most > 0) print_times(row);
    printf(" %10.2f %10s  %s", (double)stats->bytes / (1 << 20), plans,
           row->fails ? "FAIL" : "PASS");
    if (!row->fails && row->differs_by) printf(": %s", row->differs_by);
    printf("\n");
}

static const char legend[] =
    "difference: mean of |compiled - eager|, photons; relative: over the mean of |eager|;\n"
    "of a gradient each entry times the parameter's scale. Other bits pass up to relative\n"
    "1e-13 in double, 1e-6 in float; where tuning took another strategy up to what either\n"
    "leaves out, of gradients 1e-3, and never above 1e-3. memory: of the compiled\n"
    "simulator; plans: made/found again\n";

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
    printf("\n");
    print_head(bench);
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

static int own_scenes(struct bench *bench)
{
    struct run *run = bench->run;
    const int n = bench_cases_count();
    int code = 0;
    for (int i = 0; i < n && !code; i++) {
        struct bench_case c;
        progress_line_part(&run->progress, "case", i, n);
        const nb_status status = bench_case_make(run->ctx, i, &c);
        code = status == NB_OK
                   ? step(bench, &c)
                   : message_status(run->messages, status, nb_context_message(run->ctx), 0);
        bench_case_free(&c);
    }
    return code;
}

/* The option -param changes the resolved scene, which with quirks differs slightly from the
 * given one. */
static int given_scene(struct bench *bench)
{
    struct run *run = bench->run;
    const struct bench_case c = {.name = "command line",
                                 .scene = run->params.nset ? run->resolved : run->s->scene,
                                 .how = run->s->how};
    progress_line_part(&run->progress, "comparison", 0, 1);
    return step(bench, &c);
}

static void start(struct bench *bench)
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
}

/* Make the first call in the process, which also starts its threads, before any case is
 * timed. */
static int warm_up(const struct bench *bench)
{
    struct run *run = bench->run;
    struct bench idle = {.run = run}; /* without times */
    struct bench_case c;
    const int compile = run->s->compile;
    if (bench->effort.most == 0) return 0;
    const nb_status status = bench_case_make(run->ctx, 0, &c);
    run->s->compile = NB_COMPILE_OFF; /* this call is not compared */
    const int code = status == NB_OK ? bench_run(&idle, &c, NB_DOUBLE)
                                     : message_status(run->messages, status,
                                                      nb_context_message(run->ctx), 0);
    run->s->compile = compile;
    bench_case_free(&c);
    free(idle.rows);
    return code;
}

/* ---- the verdict ---- */

static const char *reason(const struct bench_row *row, char *text, size_t size)
{
    if (!row->repeats[SIDE_EAGER]) return "eager calls do not repeat their bits";
    if (!row->repeats[SIDE_COMPILED]) return "compiled calls do not repeat their bits";
    snprintf(text, size, "relative difference %.3g, allowed %.3g", row->relative,
             row->allowed);
    return text;
}

static int verdict(const struct bench *bench)
{
    char text[80];
    int left = bench->failures;
    for (int i = 0; i < bench->nrow && left > 0; i++) {
        const struct bench_row *const row = &bench->rows[i];
        if (!row->fails) continue;
        left--;
        const int code =
            message_failure(bench->run->messages, "-bench_compile: %s, %s in %s: %s",
                            row->name, bench_operation_word(row->operation),
                            precision_of(row), reason(row, text, sizeof text));
        if (left == 0) return code;
    }
    if (!bench->run->s->quiet) printf("every comparison passes\n");
    return EXIT_DONE;
}

static int conclude(struct bench *bench)
{
    const struct settings *s = bench->run->s;
    int code = 0;
    if (!s->quiet) print_end(bench);
    if (s->json) code = bench_json_write(bench, s->json);
    const int judged = verdict(bench);
    return judged ? judged : code;
}

static int stopped(const struct bench *bench)
{
    progress_line_end(&bench->run->progress);
    (void)fflush(stdout);
    fprintf(stderr, "nanobrag: interrupted after %d comparisons; no file was written\n",
            bench->nrow);
    return EXIT_INTERRUPTED;
}

int bench_compile(struct run *run)
{
    struct bench bench = {.run = run};
    const double begun = progress_line_clock();
    start(&bench);
    if (!run->s->quiet) print_start(&bench);
    int code = warm_up(&bench);
    if (!code)
        code = bench_compile_builtin(run->s) ? own_scenes(&bench) : given_scene(&bench);
    bench.seconds = progress_line_clock() - begun;
    if (code == EXIT_INTERRUPTED)
        code = stopped(&bench);
    else if (!code)
        code = conclude(&bench);
    free(bench.rows);
    return code;
}
