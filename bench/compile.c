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
#include "timing.h"

enum { EAGER, COMPILED, SIDES };
enum { IMAGE, GRADIENT, OPERATIONS };
enum { POINTS = 2, TIMES_MOST = 301 };

static const struct effort {
    const char *word;
    int edge; /* most pixels of a case along fast and slow */
    int least, most; /* times that a call is timed */
    double seconds; /* after this time, no more than `least` */
} efforts[] = {{"verify", 32, 0, 0, 0},
               {"quick", 128, 5, 101, 0.05},
               {"full", 512, 9, TIMES_MOST, 0.4}};

static struct {
    const struct effort *effort;
    double (*clock)(void);
    int threads, rows, failures;
    nb_context *ctx; /* of lists of structure factors */
} run;

/* A scene as it is compared: a simulator of each side, which differ in nothing else. */
struct pair {
    const char *name;
    nb_options how;
    nb_context *ctx[SIDES];
    nb_simulator *sim[SIDES];
    double made[SIDES]; /* seconds to make it */
    int nslow, nfast;
    size_t n[OPERATIONS]; /* values of a result */
    double *x[POINTS], *cotangent;
    double *result[SIDES][OPERATIONS][POINTS], *now[OPERATIONS];
    int repeats; /* every later call gave the bits of the first */
};

static void give_up(const char *name, const nb_context *ctx)
{
    (void)fprintf(stderr, "nanobrag_bench_compile: %s: %s\n", name,
                  ctx ? nb_context_message(ctx) : "out of memory");
    exit(1);
}

static double *doubles(size_t n)
{
    double *const p = calloc(n + 1, sizeof *p);

    if (!p) give_up("results", NULL);
    return p;
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

static void open_side(struct pair *p, int side, const nb_scene *scene)
{
    const nb_context_options options = {.threads = run.threads,
                                        .compile =
                                            side == EAGER ? NB_COMPILE_OFF : NB_COMPILE_ON};
    const double start = run.clock();

    if (nb_context_create(NB_API_VERSION, &options, &p->ctx[side]) != NB_OK
        || nb_simulator_create(p->ctx[side], scene, "*", &p->how, &p->sim[side]) != NB_OK)
        give_up(p->name, p->ctx[side]);
    p->made[side] = run.clock() - start;
}

/* Make both sides, the points x and room for results. */
static void open_pair(struct pair *p, const nb_scene *scene)
{
    nb_description d;

    for (int side = 0; side < SIDES; side++) open_side(p, side, scene);
    if (nb_describe(p->sim[EAGER], NULL, &d) != NB_OK) give_up(p->name, p->ctx[EAGER]);
    p->nslow = d.nslow;
    p->nfast = d.nfast;
    p->n[IMAGE] = (size_t)d.nslow * (size_t)d.nfast;
    p->n[GRADIENT] = nb_nparam(p->sim[EAGER]);
    p->repeats = 1;
    p->cotangent = doubles(p->n[IMAGE]);
    for (size_t i = 0; i < p->n[IMAGE]; i++)
        p->cotangent[i] = 0.5 + (double)(7 * i % 11) / 11;
    for (int o = 0; o < OPERATIONS; o++) p->now[o] = doubles(p->n[o]);
    for (int at = 0; at < POINTS; at++) p->x[at] = doubles(p->n[GRADIENT]);
    for (size_t i = 0; i < p->n[GRADIENT]; i++) {
        nb_param param;

        (void)nb_param_at(p->sim[EAGER], i, &param);
        p->x[0][i] = param.value;
        p->x[1][i] = moved(&param);
    }
}

static void close_pair(struct pair *p)
{
    for (int side = 0; side < SIDES; side++) {
        nb_simulator_free(p->sim[side]);
        nb_context_free(p->ctx[side]);
        for (int i = 0; i < OPERATIONS * POINTS; i++)
            free(p->result[side][i / POINTS][i % POINTS]);
    }
    for (int o = 0; o < OPERATIONS; o++) free(p->now[o]);
    for (int at = 0; at < POINTS; at++) free(p->x[at]);
    free(p->cotangent);
}

/* Returns the seconds of a call, whose result is in `now`; -1 if there is no gradient, as
 * of nanoBragg's curved detector. */
static double call(struct pair *p, int side, int operation, int point)
{
    double *const now = p->now[operation];
    nb_array image = nb_array_f64(now, p->nslow, p->nfast);
    const nb_array cotangent = nb_array_f64(p->cotangent, p->nslow, p->nfast);
    const double start = run.clock();
    nb_status status;

    if (operation == GRADIENT) memset(now, 0, p->n[operation] * sizeof *now);
    status = operation == IMAGE ? nb_forward(p->sim[side], p->x[point], &image)
                                : nb_vjp(p->sim[side], p->x[point], 1, &cotangent, now);
    if (status == NB_ERR_UNSUPPORTED && operation == GRADIENT) return -1;
    if (status != NB_OK) give_up(p->name, p->ctx[side]);
    return run.clock() - start;
}

/* Make the calls of a side: at x, at the other point, and at x again; first images, then
 * gradients with an image between them. Returns the seconds of the first of each operation,
 * -1: there is none. */
static void check_side(struct pair *p, int side, double first[OPERATIONS])
{
    static const struct {
        int operation, point;
    } calls[] = {{IMAGE, 0}, {IMAGE, 1},    {IMAGE, 0},   {GRADIENT, 0},
                 {IMAGE, 1}, {GRADIENT, 1}, {GRADIENT, 0}};

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const int operation = calls[i].operation, point = calls[i].point;
        const size_t bytes = p->n[operation] * sizeof(double);
        double **const kept = &p->result[side][operation][point];
        const double seconds = call(p, side, operation, point);

        if (!*kept) {
            if (point == 0) first[operation] = seconds;
            *kept = doubles(p->n[operation]);
            memcpy(*kept, p->now[operation], bytes);
        } else
            p->repeats &= memcmp(*kept, p->now[operation], bytes) == 0;
    }
}

/* Measure both sides in turn, so that a disturbance of the machine affects both, and print
 * medians in ms and the ratio of the least times, which others disturb less. */
static void print_times(struct pair *p, int operation, const double first[SIDES])
{
    double seconds[SIDES][TIMES_MOST], median[SIDES];
    const double start = run.clock();
    int n = 0;

    for (; n < run.effort->most; n++) {
        if (n >= run.effort->least && run.clock() - start > SIDES * run.effort->seconds)
            break;
        for (int i = 0; i < SIDES; i++) {
            const int side = (i + n) % SIDES;

            seconds[side][n] = call(p, side, operation, 0);
        }
    }
    for (int side = 0; side < SIDES; side++) median[side] = timing_median(seconds[side], n);
    for (int side = 0; side < SIDES; side++)
        (void)printf(" %9.3f", 1e3 * fmax(first[side] - median[side], 0));
    (void)printf(" %9.3f %9.3f %7.2f", 1e3 * median[EAGER], 1e3 * median[COMPILED],
                 seconds[EAGER][0] / seconds[COMPILED][0]);
}

/* Print the row of an operation, and count it. */
static void conclude(struct pair *p, int operation, const double first[SIDES])
{
    nb_compile_stats stats, eager;
    nb_description d;
    int good = p->repeats;

    nb_simulator_stats(p->sim[COMPILED], &stats);
    nb_simulator_stats(p->sim[EAGER], &eager);
    (void)nb_describe(p->sim[EAGER], NULL, &d);
    for (int point = 0; point < POINTS; point++)
        good &= bits_same(p->result[EAGER][operation][point],
                          p->result[COMPILED][operation][point], p->n[operation]);
    /* an x that moves nothing would prove nothing */
    good &= memcmp(p->result[EAGER][operation][0], p->result[EAGER][operation][1],
                   p->n[operation] * sizeof(double))
            != 0;
    good &= eager.compiled_launches == 0;
    (void)printf("%-24s %-8s %-6s %-5s %-4s", p->name,
                 operation == IMAGE ? "image" : "gradient",
                 precision_word(p->how.precision), strategy_word(d.strategy),
                 good ? "same" : "FAIL");
    if (run.effort->most > 0) print_times(p, operation, first);
    (void)printf(" %8.2f %4d%s\n", (double)stats.bytes / (1 << 20), (int)stats.compiles,
                 stats.compiled_launches > 0 ? "" : " uncompiled twice");
    (void)fflush(stdout);
    run.rows++;
    run.failures += !good;
}

/* Returns the strategy that was used. */
static int compare(const char *name, const nb_scene *scene, int precision, int strategy)
{
    struct pair p = {.name = name, .how = {.precision = precision, .strategy = strategy}};
    double first[SIDES][OPERATIONS];
    nb_description d;

    open_pair(&p, scene);
    (void)nb_describe(p.sim[EAGER], NULL, &d);
    for (int side = 0; side < SIDES; side++) check_side(&p, side, first[side]);
    for (int operation = 0; operation < OPERATIONS; operation++) {
        const double seconds[SIDES] = {p.made[EAGER] + first[EAGER][operation],
                                       p.made[COMPILED] + first[COMPILED][operation]};

        if (first[EAGER][operation] >= 0) conclude(&p, operation, seconds);
    }
    close_pair(&p);
    return d.strategy;
}

/* Compare in both precisions, by lanes and by what the library chooses. */
static void compare_ways(const char *name, const nb_scene *scene)
{
    for (int precision = NB_DOUBLE; precision <= NB_SINGLE; precision++)
        if (compare(name, scene, precision, NB_STRATEGY_AUTO) != NB_LANES
            && run.effort->most == 0)
            (void)compare(name, scene, precision, NB_LANES);
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
        if (cases_hkl(run.ctx, &c.is, &list) != NB_OK) give_up(name, run.ctx);
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
    if (nb_context_create(NB_API_VERSION, NULL, &run.ctx) != NB_OK) give_up("", NULL);
    (void)printf("%-24s %-8s %-6s %-5s %-4s", "scene", "of", "", "", "bits");
    if (run.effort->most > 0)
        (void)printf(" %9s %9s %9s %9s %7s", "first ms", "compiled", "eager ms", "compiled",
                     "speedup");
    (void)printf(" %8s %4s\n", "MiB", "plans");
    compare_all();
    (void)printf("%d comparisons, %d failures\n", run.rows, run.failures);
    nb_context_free(run.ctx);
    return run.failures > 0 || run.rows == 0;
}
