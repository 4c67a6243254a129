/*
 * compile.c - nanobrag_bench_compile [verify|quick|full] [THREADS]: images and gradients by
 * compiled calls against uncompiled ones. Their bits have to be the same, for the scenes of
 * the tests and for the cases of the benchmark; quick and full also compare times.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "cases.h"
#include "support/scenes.h"
#include "support/worst.h"
#include "timed.h"
#include "timing.h"

enum { EAGER, COMPILED, SIDES };
enum { IMAGE, GRADIENT, OPERATIONS };
enum { POINTS = 2 };

static const struct effort {
    const char *word;
    int edge; /* most pixels of a case along fast and slow */
    int least; /* times that a call is timed; 0: it is not */
    double seconds; /* ... or more of them in a quarter of this */
} efforts[] = {{"verify", 32, 0, 0}, {"quick", 128, 5, 0.2}, {"full", 512, 9, 2}};

static struct {
    const struct effort *effort;
    double (*clock)(void);
    int threads, rows, failures;
    nb_context *ctx; /* of lists of structure factors */
} run;

/* A scene as it is compared: a simulator of each side, which differ in nothing else. */
struct pair {
    const char *name;
    struct timed *side;
    double *x[POINTS];
    /* of the first call of each kind: its result, 0 before, and its seconds */
    unsigned long long bits[SIDES][OPERATIONS][POINTS];
    double first[SIDES][OPERATIONS];
    int repeats; /* every later call gave the bits of the first */
    int sound[OPERATIONS]; /* the results are finite and not all zeros */
};

static const enum timed_call calls_of[OPERATIONS] = {TIMED_IMAGE, TIMED_ADJOINT};

static void give_up(const char *name, const char *why)
{
    (void)fprintf(stderr, "nanobrag_bench_compile: %s: %s\n", name, why);
    exit(1);
}

/* Returns a parameter moved a little within its bounds, as in a fit. */
static double moved(const nb_param *p)
{
    static const char names[] = " misset_x cell_a distance mosaic default_f fluence phi0 "
                                "ncells_a b_factor thickness water psf_fwhm ";
    const double up = p->value + 0.02 * p->scale;
    char word[64];

    (void)snprintf(word, sizeof word, " %s ", p->name);
    return strstr(names, word) && !(p->smooth & NB_SMOOTH_ZERO) && p->value > p->lower
                   && up <= p->upper
               ? up
               : p->value;
}

static void make_points(struct pair *p)
{
    const nb_simulator *const sim = p->side[EAGER].sim;
    const size_t n = nb_simulator_nparam(sim);

    for (int at = 0; at < POINTS; at++) {
        p->x[at] = calloc(n + 1, sizeof *p->x[at]);
        if (!p->x[at]) give_up(p->name, "out of memory");
    }
    for (size_t i = 0; i < n; i++) {
        nb_param param;

        (void)nb_simulator_param(sim, i, &param);
        p->x[0][i] = param.value;
        p->x[1][i] = moved(&param);
    }
}

/* Make the calls of a side: at x, at the other point, and at x again; first images, then
 * gradients with an image between them. */
static void check_side(struct pair *p, int side, int operations)
{
    static const struct {
        int operation, point;
    } calls[] = {{IMAGE, 0}, {IMAGE, 1},    {IMAGE, 0},   {GRADIENT, 0},
                 {IMAGE, 1}, {GRADIENT, 1}, {GRADIENT, 0}};
    struct timed *const t = p->side + side;
    const size_t n[] = {(size_t)t->about.nslow * (size_t)t->about.nfast,
                        nb_simulator_nparam(t->sim)};

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const int operation = calls[i].operation, point = calls[i].point;
        const double *const found = operation == IMAGE ? t->photons : t->slopes;
        unsigned long long *const first = &p->bits[side][operation][point], now;
        double seconds;

        if (operation >= operations) continue;
        memset(t->slopes, 0, n[GRADIENT] * sizeof *t->slopes);
        t->at = p->x[point];
        seconds = timed_run(t, calls_of[operation]);
        if (seconds == 0) give_up(p->name, t->said);
        now = timed_hash(found, n[operation] * sizeof *found);
        p->sound[operation] &= worst_largest(found, n[operation]) > 0;
        if (*first) {
            p->repeats &= *first == now;
            continue;
        }
        if (point == 0) p->first[side][operation] = t->made + seconds;
        *first = now;
    }
}

/* Print medians in ms and the ratio of the least times, which others disturb less. */
static void print_times(const struct pair *p, int operation)
{
    double median[SIDES], least[SIDES];

    for (int side = 0; side < SIDES; side++) {
        double *const times = p->side[side].times[calls_of[operation]];

        median[side] = timing_median(times, p->side[side].n);
        least[side] = times[0]; /* they are sorted */
    }
    for (int side = 0; side < SIDES; side++)
        (void)printf(" %9.3f", 1e3 * fmax(p->first[side][operation] - median[side], 0));
    (void)printf(" %9.3f %9.3f %7.2f", 1e3 * median[EAGER], 1e3 * median[COMPILED],
                 least[EAGER] / least[COMPILED]);
}

/* Print the row of an operation, and count it. An x that moves nothing would prove nothing,
 * nor would an image of zeros. */
static void conclude(const struct pair *p, int operation)
{
    const struct timed *const side = p->side;
    const unsigned long long *const eager = p->bits[EAGER][operation];
    const unsigned long long *const compiled = p->bits[COMPILED][operation];
    nb_compile_stats stats, uncompiled;
    int good;

    nb_simulator_stats(side[COMPILED].sim, &stats);
    nb_simulator_stats(side[EAGER].sim, &uncompiled);
    good = p->repeats && p->sound[operation] && eager[0] == compiled[0]
           && eager[1] == compiled[1] && eager[0] != eager[1]
           && uncompiled.compiled_launches == 0;
    (void)printf("%-24s %-8s %-6s %-5s %-4s", p->name,
                 operation == IMAGE ? "image" : "gradient",
                 precision_word(side->is.options.precision),
                 strategy_word(side->about.strategy), good ? "same" : "FAIL");
    if (run.effort->least > 0) print_times(p, operation);
    (void)printf(" %8.2f %4d%s\n", (double)stats.bytes / (1 << 20), (int)stats.compiles,
                 stats.compiled_launches > 0 ? "" : " uncompiled twice");
    (void)fflush(stdout);
    run.rows++;
    run.failures += !good;
}

/* Returns the strategy that was used. */
static int compare(const char *name, const nb_scene *scene, int precision, int strategy)
{
    static struct timed side[SIDES];
    struct pair p = {.name = name, .side = side, .repeats = 1, .sound = {1, 1}};
    /* nanoBragg's curved detector has no derivatives */
    const int is_flat = !scene->detector.curved || !(scene->quirks & NB_QUIRK_CURVED);
    const int operations = is_flat ? OPERATIONS : 1;
    struct timed_request request = {.of = {.scene = *scene},
                                    .options = {precision, strategy, 0},
                                    .threads = run.threads,
                                    .is_wide = 1,
                                    .clock = run.clock,
                                    .free_names = "*"};

    for (int o = 0; o < operations; o++) request.calls |= 1U << calls_of[o];
    for (int i = 0; i < SIDES; i++) {
        request.compile = i == EAGER ? NB_COMPILE_OFF : NB_COMPILE_ON;
        if (!timed_open(side + i, &request)) give_up(name, side[i].said);
        if (i == EAGER) make_points(&p);
        check_side(&p, i, operations);
    }
    if (run.effort->least > 0
        && !timed_turns(side, SIDES, run.effort->least, run.effort->seconds))
        give_up(name, "a call failed");
    for (int o = 0; o < operations; o++) conclude(&p, o);
    for (int i = 0; i < SIDES; i++) timed_close(side + i);
    for (int at = 0; at < POINTS; at++) free(p.x[at]);
    return side[EAGER].about.strategy;
}

/* Compare in both precisions, by lanes and by what the library chooses. */
static void compare_ways(const char *name, const nb_scene *scene)
{
    for (int precision = NB_PRECISION_DOUBLE; precision <= NB_PRECISION_SINGLE; precision++)
        if (compare(name, scene, precision, NB_STRATEGY_AUTO) != NB_STRATEGY_LANES
            && run.effort->least == 0)
            (void)compare(name, scene, precision, NB_STRATEGY_LANES);
}

static void compare_all(void)
{
    static const unsigned sets[] = {SCENES_FEATURES, SCENES_SPOTS};
    static uint8_t mask[4096];
    nb_scene masked = scenes_base();
    struct named_scene named;
    struct bench_case c;

    for (size_t i = 0; i < sizeof mask; i++) mask[i] = i % 11 != 3;
    masked.detector.mask = mask;
    compare_ways("mask", &masked);
    for (size_t set = 0; set < sizeof sets / sizeof *sets; set++)
        for (size_t i = 0; scenes_at(sets[set], i, &named); i++)
            compare_ways(named.name, &named.scene);
    for (size_t i = 0; cases_at(i, &c); i++) {
        nb_detector *const d = &c.is.scene.detector;
        const char name[] = {'c', 'a', 's', 'e', ' ', c.letter, 0};
        nb_hkl *list;

        if (d->nfast > run.effort->edge) d->nfast = d->nslow = run.effort->edge;
        if (cases_hkl(run.ctx, &c.is, &list) != NB_OK)
            give_up(name, nb_context_message(run.ctx));
        compare_ways(name, &c.is.scene);
        nb_hkl_free(list);
    }
}

static const struct effort *effort_named(const char *word)
{
    for (size_t i = 0; i < sizeof efforts / sizeof *efforts; i++)
        if (strcmp(efforts[i].word, word) == 0) return &efforts[i];
    return NULL;
}

int main(int argc, char **argv)
{
    run.effort = effort_named(argc > 1 ? argv[1] : "quick");
    run.threads = argc > 2 ? atoi(argv[2]) : 0;
    run.clock = run.threads == 1 ? timing_process_seconds : timing_seconds;
    if (!run.effort || argc > 3 || run.threads < 0) {
        (void)fprintf(stderr, "usage: nanobrag_bench_compile [verify|quick|full] "
                              "[THREADS]\n");
        return 2;
    }
    if (nb_context_create(NB_API_VERSION, NULL, &run.ctx) != NB_OK)
        give_up("context", "out of memory");
    (void)printf("%-24s %-8s %-6s %-5s %-4s", "scene", "of", "", "", "bits");
    if (run.effort->least > 0)
        (void)printf(" %9s %9s %9s %9s %7s", "first ms", "compiled", "eager ms", "compiled",
                     "speedup");
    (void)printf(" %8s %4s\n", "MiB", "plans");
    compare_all();
    (void)printf("%d comparisons, %d failures\n", run.rows, run.failures);
    nb_context_free(run.ctx);
    return run.failures > 0 || run.rows == 0;
}
