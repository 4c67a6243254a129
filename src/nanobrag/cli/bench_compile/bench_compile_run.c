/*
 * bench_compile_run.c - one scene at one precision, eager and compiled: the same calls in
 * the same order, each side in a context of its own, then the times of both in turn.
 *
 * Results of repeated calls are compared by a hash of their bits, so that a large image
 * need not be saved for each.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/bench_compile/bench_compile.h"

/* The number of points x. Calls at the first are repeated after calls at the second. */
enum { POINTS = 2 };

/* The results of an operation. */
struct values {
    size_t n;
    double *kept[POINTS], *now; /* eager results at each point; those of the last call */
    double *weight; /* converts each to photons; NULL: all are 1 */
};

struct side {
    nb_context *ctx;
    nb_simulator *sim;
    uint64_t hash[OPERATIONS][POINTS]; /* of the first call */
    int called[OPERATIONS][POINTS];
};

struct attempt {
    struct bench *bench;
    const struct bench_case *c;
    nb_options how;
    struct side side[SIDES];
    int nslow, nfast;
    double *x[POINTS], *cotangent;
    struct values of[OPERATIONS];
    struct bench_row row[OPERATIONS];
    int has_gradient;
};

/* ---- the library ---- */

static int on_progress(void *user, double fraction)
{
    (void)user;
    (void)fraction;
    return progress_line_interrupted();
}

static void on_log(void *user, int level, const char *topic, const char *line)
{
    const struct run *run = user;
    (void)topic;
    if (level == NB_LOG_WARNING) message_warning(run->messages, "%s", line);
}

static int library_failed(const struct attempt *t, nb_status status, const nb_context *ctx)
{
    const char *const message = ctx ? nb_context_message(ctx) : "";
    if (status == NB_ERR_CANCELLED) return EXIT_INTERRUPTED;
    return message_status(t->bench->run->messages, status, message, 0);
}

static int open_context(const struct attempt *t, int side, nb_context **out)
{
    struct run *run = t->bench->run;
    const nb_context_options options = {.threads = run->s->threads,
                                        .compile = side == SIDE_EAGER ? NB_COMPILE_OFF
                                                                      : run->s->compile,
                                        .log = on_log,
                                        .progress = on_progress,
                                        .user = run};
    const nb_status status = nb_context_create(NB_API_VERSION, &options, out);
    return status == NB_OK ? 0 : library_failed(t, status, NULL);
}

static void close_side(struct side *side)
{
    nb_simulator_free(side->sim);
    nb_context_free(side->ctx);
    side->sim = NULL;
    side->ctx = NULL;
}

static int open_side(struct attempt *t, int side, const nb_scene *scene,
                     const nb_options *how)
{
    struct side *const s = &t->side[side];
    const int code = open_context(t, side, &s->ctx);
    if (code) return code;
    const nb_status status = nb_simulator_create(s->ctx, scene, "*", how, &s->sim);
    return status == NB_OK ? 0 : library_failed(t, status, s->ctx);
}

static nb_array image_of(const struct attempt *t, double *data)
{
    return nb_array_f64(data, t->nslow, t->nfast);
}

/* Make one call, and write its time to *ms. */
static nb_status call(struct attempt *t, int side, int operation, int point, double *ms)
{
    struct values *const v = &t->of[operation];
    nb_simulator *const sim = t->side[side].sim;
    const nb_array cotangent = image_of(t, t->cotangent);
    nb_array image = image_of(t, v->now);
    nb_status status;
    if (operation == OPERATION_GRADIENT) memset(v->now, 0, v->n * sizeof *v->now);
    const double start = progress_line_clock();
    if (operation == OPERATION_IMAGE)
        status = nb_forward(sim, t->x[point], &image);
    else
        status = nb_vjp(sim, t->x[point], 1, &cotangent, v->now);
    *ms = 1e3 * (progress_line_clock() - start);
    return status;
}

/* ---- memory ---- */

/* Allocate numbers and set them to 0, so that no first call pays for their pages. */
static double *make_doubles(size_t n)
{
    double *const p = malloc((n + 1) * sizeof *p);
    for (size_t i = 0; p && i < n; i++) p[i] = 0;
    return p;
}

static int make_values(struct values *v, size_t n)
{
    v->n = n;
    for (int i = 0; i < POINTS; i++)
        if (!(v->kept[i] = make_doubles(n))) return 0;
    return (v->now = make_doubles(n)) != NULL;
}

/* Returns the other x: moved a little within its bounds, as in a fit. A parameter at its
 * lower bound, such as the thickness of absent water, stays. */
static double moved(const nb_param *p)
{
    static const char *const names[] = {"misset_x",  "cell_a",    "distance", "mosaic",
                                        "default_f", "fluence",   "phi0",     "ncells_a",
                                        "b_factor",  "thickness", "water",    "psf_fwhm"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], p->name) != 0 || (p->smooth & NB_SMOOTH_ZERO)) continue;
        const double up = p->value + 0.02 * p->scale;
        return p->value > p->lower && up <= p->upper ? up : p->value;
    }
    return p->value;
}

static int allocate(struct attempt *t)
{
    const nb_simulator *const sim = t->side[SIDE_EAGER].sim;
    const size_t npixel = (size_t)t->nslow * (size_t)t->nfast, nparam = nb_nparam(sim);
    struct values *const gradient = &t->of[OPERATION_GRADIENT];
    int made =
        make_values(&t->of[OPERATION_IMAGE], npixel) && make_values(gradient, nparam);
    made = made && (t->cotangent = make_doubles(npixel));
    made = made && (gradient->weight = make_doubles(nparam));
    for (int i = 0; i < POINTS; i++) made = made && (t->x[i] = make_doubles(nparam));
    if (!made)
        return message_failure(t->bench->run->messages, "out of memory for a comparison");
    for (size_t i = 0; i < npixel; i++) t->cotangent[i] = 0.5 + (double)(7 * i % 11) / 11;
    for (size_t i = 0; i < nparam; i++) {
        nb_param p;
        (void)nb_param_at(sim, i, &p);
        t->x[0][i] = p.value;
        t->x[1][i] = moved(&p);
        gradient->weight[i] = p.scale;
    }
    return 0;
}

static void free_run(struct attempt *t)
{
    for (int side = 0; side < SIDES; side++) close_side(&t->side[side]);
    for (int operation = 0; operation < OPERATIONS; operation++) {
        for (int i = 0; i < POINTS; i++) free(t->of[operation].kept[i]);
        free(t->of[operation].now);
        free(t->of[operation].weight);
    }
    for (int i = 0; i < POINTS; i++) free(t->x[i]);
    free(t->cotangent);
}

/* ---- differences ---- */

static uint64_t hash_of(const double *values, size_t n)
{
    uint64_t hash = 14695981039346656037ULL;
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        hash = (hash ^ bits) * 1099511628211ULL;
        hash ^= hash >> 29;
    }
    return hash;
}

/* Compare with the eager results; the row gets the larger difference of both points. */
static void compare(const struct values *v, int point, struct bench_row *row)
{
    const double *const eager = v->kept[point];
    double sum = 0, whole = 0;
    for (size_t i = 0; i < v->n; i++) {
        const double weight = v->weight ? v->weight[i] : 1;
        sum += weight * fabs(v->now[i] - eager[i]);
        whole += weight * fabs(eager[i]);
    }
    if (point == 0) row->mean = whole / (double)v->n;
    if (memcmp(eager, v->now, v->n * sizeof *eager) == 0) return;
    row->equal = 0;
    const double relative = sum > 0 ? sum / whole : sum; /* a NaN stays a NaN */
    if (isnan(row->relative) || relative < row->relative) return;
    row->relative = relative;
    row->difference = sum / (double)v->n;
}

/* Make a call, and compare its result with the expected one. */
static int check(struct attempt *t, int side, int operation, int point)
{
    struct side *const s = &t->side[side];
    struct values *const v = &t->of[operation];
    struct bench_row *const row = &t->row[operation];
    double ms;
    const nb_status status = call(t, side, operation, point, &ms);
    if (status == NB_ERR_UNSUPPORTED && operation == OPERATION_GRADIENT) {
        t->has_gradient = 0; /* for nanoBragg's curved detector */
        return 0;
    }
    if (status != NB_OK) return library_failed(t, status, s->ctx);
    const uint64_t hash = hash_of(v->now, v->n);
    if (s->called[operation][point]++) {
        if (hash != s->hash[operation][point]) row->repeats[side] = 0;
        return 0;
    }
    if (point == 0) row->first[side] += ms;
    s->hash[operation][point] = hash;
    if (side == SIDE_EAGER)
        memcpy(v->kept[point], v->now, v->n * sizeof *v->now);
    else
        compare(v, point, row);
    return 0;
}

/* Make calls at x, at the other point, and at x again: first images, then gradients with an
 * image between them. */
static int check_side(struct attempt *t, int side)
{
    static const struct {
        int operation, point;
    } calls[] = {
        {OPERATION_IMAGE, 0},    {OPERATION_IMAGE, 1}, {OPERATION_IMAGE, 0},
        {OPERATION_GRADIENT, 0}, {OPERATION_IMAGE, 1}, {OPERATION_GRADIENT, 1},
        {OPERATION_GRADIENT, 0},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (calls[i].operation == OPERATION_GRADIENT && !t->has_gradient) continue;
        const int code = check(t, side, calls[i].operation, calls[i].point);
        if (code) return code;
    }
    return 0;
}

/* ---- times ---- */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, ascending);
    return n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

/* Returns the processor time of this thread, in s. A thread spins while it waits for
 * others, so on a quiet machine this is close to the time that passes. */
static double processor_clock(void)
{
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Measure the medians of both sides, whose calls alternate, so that a disturbance of the
 * machine affects both. */
static int time_both(struct attempt *t, int operation, double out[SIDES],
                     double least[SIDES])
{
    const struct bench_effort *const effort = &t->bench->effort;
    const double start = progress_line_clock();
    double ms[SIDES][BENCH_TIMES_MOST];
    int n = 0;
    for (; n < effort->most; n++) {
        if (n >= effort->least && progress_line_clock() - start > effort->seconds) break;
        for (int i = 0; i < SIDES; i++) {
            const int side = (i + n) % SIDES;
            const nb_status status = call(t, side, operation, 0, &ms[side][n]);
            if (status != NB_OK) return library_failed(t, status, t->side[side].ctx);
        }
    }
    for (int side = 0; side < SIDES; side++) {
        out[side] = median(ms[side], n); /* this sorts them */
        least[side] = ms[side][0];
    }
    return 0;
}

/* Measure the time that does not depend on the number of pixels, with a region of one
 * pixel. Large images are left out: clearing the rest of the image takes longer. */
static int time_fixed(struct attempt *t)
{
    enum { PIXELS_MOST = 1 << 18 };
    nb_scene scene = t->c->scene;
    nb_options how = t->how;
    nb_scene resolved;
    double least[SIDES];
    int code = 0;
    if ((int64_t)t->nslow * t->nfast > PIXELS_MOST) return 0;
    how.strategy = t->row[OPERATION_IMAGE].about[SIDE_EAGER].strategy;
    (void)nb_resolved(t->side[SIDE_EAGER].sim, NULL, &resolved);
    memcpy(scene.detector.roi, resolved.detector.roi, sizeof scene.detector.roi);
    for (int i = 0; i < 4; i += 2) {
        int *const ends = scene.detector.roi + i;
        ends[0] = (ends[0] + ends[1]) / 2;
        ends[1] = ends[0] + 1;
    }
    for (int side = 0; side < SIDES; side++) close_side(&t->side[side]);
    for (int side = 0; side < SIDES && !code; side++)
        code = open_side(t, side, &scene, &how);
    for (int operation = 0; operation < OPERATIONS && !code; operation++)
        if (operation == OPERATION_IMAGE || t->has_gradient)
            code = time_both(t, operation, t->row[operation].fixed, least);
    return code;
}

/* ---- all of it ---- */

/* Returns the limit of `relative`. Tuning may choose another strategy. Either strategy
 * leaves out at most the tolerance, a fraction of the peak, in each pixel of an image; no
 * such bound is known for gradients. The limit never exceeds the gate. */
static double allowed(const struct attempt *t, int operation)
{
    const struct values *const v = &t->of[OPERATION_IMAGE];
    const nb_description *const eager = &t->row[operation].about[SIDE_EAGER];
    const nb_description *const other = &t->row[operation].about[SIDE_COMPILED];
    const double gate = 1e-3, most = t->how.precision == NB_SINGLE ? 1e-6 : 1e-13;
    double sum = 0, peak = 0;
    if (eager->strategy == other->strategy) return most;
    if (operation == OPERATION_GRADIENT) return gate;
    for (size_t i = 0; i < v->n; i++) {
        sum += v->kept[0][i];
        peak = fmax(peak, v->kept[0][i]);
    }
    const double left_out = eager->tolerance + other->tolerance;
    return sum > 0 ? fmin(gate, fmax(most, left_out * peak * (double)v->n / sum)) : most;
}

static void start_rows(struct attempt *t)
{
    for (int operation = 0; operation < OPERATIONS; operation++)
        t->row[operation] = (struct bench_row){.name = t->c->name,
                                               .operation = operation,
                                               .precision = t->how.precision,
                                               .values = t->of[operation].n,
                                               .equal = 1,
                                               .share = 1,
                                               .repeats = {1, 1},
                                               .fixed = {-1, -1}};
}

/* Save the line of the plan, which shows its threads, without the hash before ':'. */
static void keep_plan(nb_simulator *sim, struct bench_row *row)
{
    const char *const word =
        row->operation == OPERATION_IMAGE ? " forward: " : " adjoint: ";
    const char *const at = strstr(nb_simulator_explain(sim), word);
    if (!at) return;
    const char *const line = at + strlen(word);
    snprintf(row->plan, sizeof row->plan, "%.*s", (int)strcspn(line, "\n"), line);
}

/* Returns the reason why bits may differ: tuning chose another strategy, or FFTW measured
 * the transforms. */
static const char *differs_by(const struct attempt *t, const struct bench_row *row)
{
    const int tuned = row->about[SIDE_COMPILED].strategy;
    if (row->equal || t->bench->run->s->compile != NB_COMPILE_TUNE) return NULL;
    if (tuned != row->about[SIDE_EAGER].strategy)
        return tuned == NB_SPOTS ? "tuning took the strategy spots"
                                 : "tuning took the strategy lanes";
    return t->c->scene.psf.kind != NB_PSF_NONE ? "tuning measured FFTW" : NULL;
}

static void finish_rows(struct attempt *t)
{
    for (int operation = 0; operation < OPERATIONS; operation++) {
        struct bench_row *const row = &t->row[operation];
        const uint64_t *const hash = t->side[SIDE_EAGER].hash[operation];
        row->values = t->of[operation].n;
        row->moves = hash[0] != hash[1];
        for (int side = 0; side < SIDES; side++) {
            nb_simulator *const sim = t->side[side].sim;
            nb_simulator_stats(sim, &row->stats[side]);
            (void)nb_describe(sim, t->x[0], &row->about[side]);
        }
        keep_plan(t->side[SIDE_COMPILED].sim, row);
        row->differs_by = differs_by(t, row);
        row->allowed = allowed(t, operation);
        /* a NaN fails too */
        row->fails = !row->repeats[SIDE_EAGER] || !row->repeats[SIDE_COMPILED]
                     || (!row->equal && !(row->relative <= row->allowed));
    }
}

/* Make a context, a simulator and the first calls of one side. */
static int first_calls(struct attempt *t, int side)
{
    const double start = progress_line_clock();
    int code = open_side(t, side, &t->c->scene, &t->how);
    t->row[OPERATION_IMAGE].first[side] = 1e3 * (progress_line_clock() - start);
    if (!code && side == SIDE_EAGER) {
        nb_description d;
        (void)nb_describe(t->side[side].sim, NULL, &d);
        t->nslow = d.nslow;
        t->nfast = d.nfast;
        code = allocate(t);
    }
    return code ? code : check_side(t, side);
}

static int measure(struct attempt *t)
{
    int code = 0;
    for (int operation = 0; operation < OPERATIONS && !code; operation++) {
        struct bench_row *const row = &t->row[operation];
        const double start = progress_line_clock(), used = processor_clock();
        if (operation == OPERATION_GRADIENT && !t->has_gradient) continue;
        code = time_both(t, operation, row->steady, row->least);
        row->share = (processor_clock() - used) / (progress_line_clock() - start);
    }
    return code ? code : time_fixed(t);
}

static int keep_rows(struct attempt *t)
{
    for (int operation = 0; operation < OPERATIONS; operation++) {
        if (operation == OPERATION_GRADIENT && !t->has_gradient) continue;
        struct bench_row *const row = bench_row_add(t->bench);
        if (!row) return message_failure(t->bench->run->messages, "out of memory");
        *row = t->row[operation];
    }
    return 0;
}

int bench_run(struct bench *bench, const struct bench_case *c, int precision)
{
    struct attempt t = {.bench = bench, .c = c, .how = c->how, .has_gradient = 1};
    int code = 0;
    t.how.precision = precision;
    start_rows(&t);
    for (int side = 0; side < SIDES && !code; side++) code = first_calls(&t, side);
    if (!code) finish_rows(&t);
    if (!code && bench->effort.most > 0) code = measure(&t);
    if (!code) code = keep_rows(&t);
    free_run(&t);
    return code;
}
