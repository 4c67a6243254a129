/*
 * judge.c - runs the checks of gradients on mutants of the derivative code.
 * tests/mutation/mutation.sh builds it with a copy of the library in which every product
 * and term of that code has a factor mutation[i]; a mutant is one factor that is not 1.
 *
 * judge SITES RESULTS SAMPLE SEED STRATEGY
 *
 * SITES: lines "number TAB file TAB line TAB text". RESULTS: lines are added for the
 * mutants that it lacks. SAMPLE: the number of mutants drawn at random, 0: all. STRATEGY:
 * reference, lanes or spots. nb_gradcheck() judges; with lanes and spots, mutants that pass
 * are judged by nb_jtj() and nb_loss() too, whose results are compared with those that
 * follow from nb_jvp() of the unmutated code, as in tests/api/test_loss.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nanobrag/gradcheck.h>
#include <nanobrag/nanobrag.h>

#include "mutation/normal.h"
#include "support/scenes.h"
#include "support/worst.h"

enum { SITES = 2000, RULES = 7, MOST_SCENES = 64 };
enum { COLUMNS = 3, LOOKED_AT = 3, RETRIED = 8 };

double mutation[SITES];

/* of the sum of sizes; the healthy code stays below a hundredth of it */
static const double normal_allowed = 1e-10;

static const struct {
    const char *name;
    double factor;
} rules[RULES] = {{"drop", 0},
                  {"sign", -1},
                  {"x1.1", 1.1},
                  {"x1.01", 1.01},
                  {"x(1+1e-4)", 1 + 1e-4},
                  {"x(1+1e-6)", 1 + 1e-6},
                  {"x(1+1e-8)", 1 + 1e-8}};

struct jacobian {
    double tangent[MOST_PARAMS][MOST_PIXELS], adjoint[MOST_PIXELS][MOST_PARAMS];
};

static struct scene {
    const char *name;
    nb_scene scene;
    nb_simulator *sim;
    int nparam, pixels;
    char names[MOST_PARAMS][32];
    double image[MOST_PIXELS];
    struct jacobian healthy;
    double weight[MOST_PIXELS], sums[MOST_PARAMS]; /* of the pixels; and nb_vjp() of them */
    double size[MOST_PARAMS]; /* of the columns */
    int passes[MOST_PARAMS][NB_GRADCHECK_LOSSES]; /* healthy verdict is PASS */
    struct normal *normal; /* NULL: not looked at */
} scenes[MOST_SCENES];
static int nscenes;
static struct worst worst_normal; /* of the healthy code */

static struct site {
    char file[40], text[200];
    int line;
    double effect[MOST_SCENES]; /* of the factor 1.1 */
    int measured;
} sites[SITES];
static int nsites;

static nb_context *ctx;
static nb_options options = {NB_PRECISION_DOUBLE, NB_STRATEGY_REFERENCE, 0};

/* lanes times a mutant's factor */
const double *mutation_scaled(int n, double factor, const double *lanes)
{
    static double scaled[4][256];
    static int next;
    double *out = scaled[next++ % 4];

    for (int i = 0; i < n; i++) out[i] = factor * lanes[i];
    return out;
}

static void fail(const char *what)
{
    (void)fprintf(stderr, "mutation_judge: %s: %s\n", what, nb_context_message(ctx));
    exit(1);
}

/* ---- Jacobians ---- */
static void tangents(struct scene *s, double out[][MOST_PIXELS])
{
    static double directions[MOST_PARAMS * MOST_PARAMS];
    static nb_array array[MOST_PARAMS];

    memset(directions, 0, sizeof directions);
    for (int i = 0; i < s->nparam; i++) {
        directions[i * s->nparam + i] = 1;
        array[i] = nb_array_f64(out[i], s->scene.detector.nslow, s->scene.detector.nfast);
    }
    if (nb_jvp(s->sim, NULL, s->nparam, directions, array) != NB_OK) fail(s->name);
}

static void jacobian(struct scene *s, struct jacobian *out)
{
    static double cotangent[MOST_PIXELS * MOST_PIXELS];
    static nb_array array[MOST_PIXELS];
    static double rows[MOST_PIXELS * MOST_PARAMS];
    const int fast = s->scene.detector.nfast, slow = s->scene.detector.nslow;

    tangents(s, out->tangent);
    memset(cotangent, 0, sizeof cotangent);
    memset(rows, 0, sizeof rows);
    for (int i = 0; i < s->pixels; i++) {
        cotangent[(size_t)i * (size_t)s->pixels + (size_t)i] = 1;
        array[i] = nb_array_f64(cotangent + (size_t)i * (size_t)s->pixels, slow, fast);
    }
    if (nb_vjp(s->sim, NULL, s->pixels, array, rows) != NB_OK) fail(s->name);
    for (int i = 0; i < s->pixels; i++)
        for (int p = 0; p < s->nparam; p++) out->adjoint[i][p] = rows[i * s->nparam + p];
}

/* nb_vjp() of the pixels' weights */
static void weighted(struct scene *s, double out[MOST_PARAMS])
{
    const nb_array weight =
        nb_array_f64(s->weight, s->scene.detector.nslow, s->scene.detector.nfast);

    memset(out, 0, MOST_PARAMS * sizeof *out);
    if (nb_vjp(s->sim, NULL, 1, &weight, out) != NB_OK) fail(s->name);
}

/* largest change of each column over its size; and the largest of those */
static double changes(struct scene *s, double change[MOST_PARAMS])
{
    static struct jacobian now;
    double largest = 0;

    jacobian(s, &now);
    for (int p = 0; p < s->nparam; p++) {
        double most = 0;

        for (int i = 0; i < s->pixels; i++) {
            const double a = fabs(now.tangent[p][i] - s->healthy.tangent[p][i]);
            const double b = fabs(now.adjoint[i][p] - s->healthy.adjoint[i][p]);

            if (!(a <= most)) most = a == a ? a : HUGE_VAL;
            if (!(b <= most)) most = b == b ? b : HUGE_VAL;
        }
        change[p] = most == 0 ? 0 : most / s->size[p];
        if (change[p] > largest) largest = change[p];
    }
    return s->normal ? fmax(largest, normal_change(s->normal)) : largest;
}

/* the same from the adjoint of one weighted sum in place of that of each pixel: enough to
 * tell in which scenes a site matters, and much faster */
static double changes_of_sums(struct scene *s)
{
    static double tangent[MOST_PARAMS][MOST_PIXELS];
    double sums[MOST_PARAMS], largest = s->normal ? normal_change(s->normal) : 0;

    tangents(s, tangent);
    weighted(s, sums);
    for (int p = 0; p < s->nparam; p++) {
        double most = fabs(sums[p] - s->sums[p]) / sqrt((double)s->pixels);

        if (!(most >= 0)) most = HUGE_VAL;
        for (int i = 0; i < s->pixels; i++) {
            const double a = fabs(tangent[p][i] - s->healthy.tangent[p][i]);

            if (!(a <= most)) most = a == a ? a : HUGE_VAL;
        }
        largest = fmax(largest, most / s->size[p]);
    }
    return largest;
}

/* ---- the harness ---- */
/* checks the parameters that are `wanted`; returns 1 when a row fails that passes with the
 * healthy code, and names it. `record`: this is the healthy code */
static int harness(struct scene *s, const int *wanted, int record, char *by, size_t size)
{
    static nb_gradcheck_row rows[MOST_PARAMS * NB_GRADCHECK_LOSSES];
    nb_gradcheck_summary summary;
    nb_simulator *sim;
    char names[4096] = "";
    size_t length = 0, n;
    int failed = 0;

    for (int p = 0; p < s->nparam; p++)
        if (wanted[p])
            length +=
                (size_t)snprintf(names + length, sizeof names - length, "%s ", s->names[p]);
    if (nb_simulator_create(ctx, &s->scene, names, &options, &sim) != NB_OK) fail(s->name);
    n = nb_gradcheck_rows(sim, NULL);
    if (n > sizeof rows / sizeof *rows
        || nb_gradcheck(sim, NULL, NULL, NULL, rows, &summary) != NB_OK)
        fail(s->name);
    for (size_t i = 0; i < n; i++) {
        const int passed = rows[i].verdict == NB_VERDICT_PASS;
        int p = 0;

        while (strcmp(s->names[p], rows[i].param.name) != 0) p++;
        if (record) {
            s->passes[p][rows[i].loss] = passed;
            if (!passed) {
                char line[400];

                (void)nb_gradcheck_line(&rows[i], line, sizeof line);
                (void)printf("# healthy, %s: %s\n", s->name, line);
                failed++;
            }
        } else if (!passed && s->passes[p][rows[i].loss] && !failed) {
            (void)snprintf(by, size, "%s %s", nb_verdict_name(rows[i].verdict),
                           rows[i].param.name);
            failed = 1;
        }
    }
    if (!failed && !record && !(summary.dot <= 1e-12)) {
        (void)snprintf(by, size, "FAIL_DOT");
        failed = 1;
    }
    nb_simulator_free(sim);
    return record ? (int)n - failed : failed;
}

/* the structure factors to which the sum of the pixels listens most, of each sign */
static void name_reflections(const nb_scene *scene, char *names, size_t size)
{
    static double ones[MOST_PIXELS];
    const nb_array all = nb_array_f64(ones, scene->detector.nslow, scene->detector.nfast);
    nb_simulator *sim;
    size_t n, low = 0, high = 0;
    double *gradient;
    nb_param param;

    for (int i = 0; i < MOST_PIXELS; i++) ones[i] = 1;
    if (nb_simulator_create(ctx, scene, "F", &options, &sim) != NB_OK) fail("F");
    n = nb_simulator_nparam(sim);
    gradient = calloc(n + 1, sizeof *gradient);
    if (!gradient || nb_vjp(sim, NULL, 1, &all, gradient) != NB_OK) fail("F");
    for (size_t i = 0; i < n; i++) {
        if (gradient[i] < gradient[low]) low = i;
        if (gradient[i] > gradient[high]) high = i;
    }
    for (size_t i = low;; i = high) {
        size_t used = strlen(names);

        if (gradient[i] != 0 && nb_simulator_param(sim, i, &param) == NB_OK)
            (void)snprintf(names + used, size - used, "%s ", param.name);
        if (i == high) break;
    }
    free(gradient);
    nb_simulator_free(sim);
}

static void add_scene(const struct named_scene *named, int *checks)
{
    struct scene *s = scenes + nscenes;
    char names[4096] = "";
    int wanted[MOST_PARAMS];
    size_t length = 0;
    nb_param param;
    nb_array image;

    s->name = named->name;
    s->scene = named->scene;
    if (s->scene.detector.nfast > 8) { /* the cost is that of pixels */
        s->scene.detector.nfast = s->scene.detector.nslow = 8;
        s->scene.detector.pixel = 2.2;
    }
    for (int i = 0; nb_param_registry(i, &param); i++) {
        const int list = (int)strcspn(param.name, "["); /* all of a list but F */
        nb_simulator *sim;

        if (strcmp(param.name, "F[h,k,l]") == 0) continue;
        param.name[list] = 0;
        if (nb_simulator_create(ctx, &s->scene, param.name, NULL, &sim) != NB_OK) continue;
        nb_simulator_free(sim);
        length +=
            (size_t)snprintf(names + length, sizeof names - length, "%s ", param.name);
    }
    if (s->scene.crystal.hkl)
        name_reflections(&s->scene, names + length, sizeof names - length);
    if (nb_simulator_create(ctx, &s->scene, names, &options, &s->sim) != NB_OK)
        fail(s->name);
    s->nparam = (int)nb_simulator_nparam(s->sim);
    s->pixels = s->scene.detector.nfast * s->scene.detector.nslow;
    if (s->nparam > MOST_PARAMS || s->pixels > MOST_PIXELS) fail("too large");
    image = nb_array_f64(s->image, s->scene.detector.nslow, s->scene.detector.nfast);
    if (nb_forward(s->sim, NULL, &image) != NB_OK) fail(s->name);
    jacobian(s, &s->healthy);
    for (int i = 0; i < s->pixels; i++) s->weight[i] = cos(1 + 1.7 * i);
    weighted(s, s->sums);
    for (int p = 0; p < s->nparam; p++) {
        if (nb_simulator_param(s->sim, (size_t)p, &param) != NB_OK) fail(s->name);
        (void)snprintf(s->names[p], sizeof s->names[p], "%s", param.name);
        wanted[p] = 1;
        s->size[p] = worst_largest(s->healthy.tangent[p], (size_t)s->pixels);
        if (!isfinite(s->size[p])) fail(s->name);
        if (s->size[p] == 0) s->size[p] = 1e-300;
    }
    if (options.strategy != NB_STRATEGY_REFERENCE) {
        double off;

        s->normal = normal_start(s->sim, s->scene.detector.nslow, s->scene.detector.nfast,
                                 s->image, s->healthy.tangent);
        if (!s->normal) fail(s->name);
        off = normal_off(s->normal);
        if (!isfinite(off)) fail(s->name);
        worst_add(&worst_normal, off, 0, 1);
    }
    *checks += harness(s, wanted, 1, NULL, 0);
    nscenes++;
}

/* ---- mutants ---- */
static int image_changes(struct scene *s)
{
    static double now[MOST_PIXELS];
    nb_array image = nb_array_f64(now, s->scene.detector.nslow, s->scene.detector.nfast);

    if (nb_forward(s->sim, NULL, &image) != NB_OK) return 1;
    return memcmp(now, s->image, (size_t)s->pixels * sizeof *now) != 0;
}

/* scenes by the effect of a site, largest first */
static int order_of(const struct site *site, int order[MOST_SCENES])
{
    int n = 0;

    for (int i = 0; i < nscenes; i++) {
        int at = n;

        if (site->effect[i] == 0) continue;
        for (; at > 0 && site->effect[order[at - 1]] < site->effect[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
        n++;
    }
    return n;
}

/* the `most` columns that change most; returns how many were chosen */
static int choose(const double *change, int n, int most, int *wanted)
{
    int chosen = 0;

    memset(wanted, 0, MOST_PARAMS * sizeof *wanted);
    while (chosen < most) {
        int best = -1;

        for (int p = 0; p < n; p++)
            if (!wanted[p] && change[p] > 0 && (best < 0 || change[p] > change[best]))
                best = p;
        if (best < 0) break;
        wanted[best] = 1;
        chosen++;
    }
    return chosen;
}

static void measure(int number)
{
    struct site *site = sites + number;

    if (site->measured) return;
    mutation[number] = 1.1;
    for (int i = 0; i < nscenes; i++)
        site->effect[i] = image_changes(scenes + i) ? -1 : changes_of_sums(scenes + i);
    mutation[number] = 1;
    site->measured = 1;
}

static void judge(int number, int rule, FILE *results)
{
    struct site *site = sites + number;
    double change[MOST_PARAMS], effect = 0, least = HUGE_VAL;
    int order[MOST_SCENES], n, wanted[MOST_PARAMS], killed = 0;
    char by[80] = "-";
    const char *verdict = "survived", *where = "-";
    const clock_t start = clock();

    measure(number);
    for (int i = 0; i < nscenes; i++) least = fmin(least, site->effect[i]);
    n = order_of(site, order);
    mutation[number] = rules[rule].factor;
    for (int i = 0; i < n && i < LOOKED_AT && least >= 0; i++)
        effect = fmax(effect, changes(scenes + order[i], change));
    if (least < 0)
        verdict = "forward";
    else if (effect == 0)
        verdict = n > 0 ? "equivalent" : "unreached";
    else {
        for (int i = 0; i < n && i < RETRIED && !killed; i++) {
            struct scene *s = scenes + order[i];

            (void)changes(s, change);
            if (choose(change, s->nparam, COLUMNS, wanted) > 0) {
                killed = harness(s, wanted, 0, by, sizeof by);
                if (!killed && choose(change, s->nparam, MOST_PARAMS, wanted) > COLUMNS)
                    killed = harness(s, wanted, 0, by, sizeof by);
                where = s->name;
            }
            if (killed || !s->normal || !(normal_off(s->normal) > normal_allowed)) continue;
            killed = 1;
            where = s->name;
            (void)snprintf(by, sizeof by, "FAIL_NORMAL");
        }
        if (killed) verdict = "killed";
    }
    mutation[number] = 1;
    (void)fprintf(results, "%s\t%d\t%s\t%s\t%.3e\t%s\t%s\t%s\t%.2f\n", site->file,
                  site->line, site->text, rules[rule].name, effect, verdict, where, by,
                  (double)(clock() - start) / CLOCKS_PER_SEC);
    (void)fflush(results);
}

static void read_sites(const char *path)
{
    static char line[4000];
    FILE *f = fopen(path, "r");

    if (!f) exit((perror(path), 1));
    while (fgets(line, sizeof line, f) && nsites < SITES) {
        struct site *s = sites + nsites++;

        (void)sscanf(line, "%*d\t%39[^\t]\t%d\t%199[^\n]", s->file, &s->line, s->text);
    }
    (void)fclose(f);
}

/* which mutants the results hold already */
static void read_results(const char *path, char *done)
{
    static char line[4000];
    FILE *f = fopen(path, "r");

    while (f && fgets(line, sizeof line, f)) {
        char file[40], text[200], rule[20];
        int number;

        if (sscanf(line, "%39[^\t]\t%d\t%199[^\t]\t%19[^\t]", file, &number, text, rule)
            != 4)
            continue;
        for (int i = 0; i < nsites; i++)
            for (int r = 0; r < RULES; r++)
                if (sites[i].line == number && !strcmp(sites[i].file, file)
                    && !strcmp(sites[i].text, text) && !strcmp(rules[r].name, rule))
                    done[i * RULES + r] = 1;
    }
    if (f) (void)fclose(f);
}

int main(int argc, char **argv)
{
    static char done[SITES * RULES];
    static int mutant[SITES * RULES];
    const nb_context_options one_thread = {.threads = 1};
    uint64_t state;
    struct named_scene named;
    static const int order[RULES] = {0, 6, 1, 4, 2, 3, 5}; /* of the rules */
    int n, checks = 0;
    FILE *results;

    if (argc != 6) return 2;
    if (!strcmp(argv[5], "lanes")) options.strategy = NB_STRATEGY_LANES;
    if (!strcmp(argv[5], "spots")) options.strategy = NB_STRATEGY_SPOTS;
    options.tolerance = 1e-16; /* what nb_gradcheck() sets */
    for (int i = 0; i < SITES; i++) mutation[i] = 1;
    if (nb_context_create(NB_API_VERSION, &one_thread, &ctx) != NB_OK) return 1;
    read_sites(argv[1]);
    read_results(argv[2], done);
    for (size_t i = 0; scenes_at(SCENES_ORACLE, i, &named); i++) add_scene(&named, &checks);
    for (size_t i = 0; scenes_at(SCENES_MUTATION, i, &named); i++)
        add_scene(&named, &checks);
    if (options.strategy != NB_STRATEGY_REFERENCE)
        (void)printf("# healthy normal matrices are off by %.1e\n", worst_normal.error);
    (void)printf("# %d scenes; the healthy code passes %d checks\n", nscenes, checks);
    (void)fflush(stdout);
    n = nsites * RULES;
    for (int i = 0; i < n; i++) mutant[i] = i;
    state = strtoull(argv[4], NULL, 10);
    for (int i = n - 1; i > 0; i--) {
        int j, other;

        state = state * 6364136223846793005u + 1442695040888963407u;
        j = (int)((state >> 33) % (uint64_t)(i + 1));
        other = mutant[i], mutant[i] = mutant[j], mutant[j] = other;
    }
    if (atoi(argv[3]) > 0 && atoi(argv[3]) < n)
        n = atoi(argv[3]);
    else
        /* factor by factor, the strongest and the weakest first: a run that is stopped has
         * judged every site by some */
        for (int i = 0; i < n; i++) mutant[i] = i % nsites * RULES + order[i / nsites];
    results = fopen(argv[2], "a");
    if (!results) return (perror(argv[2]), 1);
    for (int i = 0; i < n; i++)
        if (!done[mutant[i]]) judge(mutant[i] / RULES, mutant[i] % RULES, results);
    return fclose(results) == 0 ? 0 : 1;
}
