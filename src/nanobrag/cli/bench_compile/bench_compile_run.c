/*
 * bench_compile_run.c - one scene at one precision, eager and compiled: the same calls in
 * the same order, each side in a context of its own, then the times of both in turn.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench_compile/bench_compile.h"
#include "cli/timing.h"

/* The number of points x. Calls at the first are repeated after calls at the second. */
enum { POINTS = 2 };

/* The results of an operation. */
struct values {
    size_t n;
    double *first[SIDES][POINTS], *now; /* those of the first call, and of the last one */
    double *weight; /* converts each to photons; NULL: all are 1 */
};

struct side {
    nb_context *ctx;
    nb_simulator *sim;
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
    double ms; /* time of the last call */
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
    struct run *run = t->bench->run;
    struct side *const s = &t->side[side];
    const nb_context_options options = {.threads = run->s->threads,
                                        .compile = side == SIDE_EAGER ? NB_COMPILE_OFF
                                                                      : run->s->compile,
                                        .log = on_log,
                                        .progress = on_progress,
                                        .user = run};
    nb_status status = nb_context_create(NB_API_VERSION, &options, &s->ctx);
    if (status == NB_OK) status = nb_simulator_create(s->ctx, scene, "*", how, &s->sim);
    return status == NB_OK ? 0 : library_failed(t, status, s->ctx);
}

static nb_array image_of(const struct attempt *t, double *data)
{
    return nb_array_f64(data, t->nslow, t->nfast);
}

/* Make one call, and keep its time. */
static nb_status call(struct attempt *t, int side, int operation, int point)
{
    struct values *const v = &t->of[operation];
    nb_simulator *const sim = t->side[side].sim;
    const nb_array cotangent = image_of(t, t->cotangent);
    nb_array image = image_of(t, v->now);
    nb_status status;
    if (operation == OPERATION_GRADIENT) memset(v->now, 0, v->n * sizeof *v->now);
    const double start = timing_seconds();
    if (operation == OPERATION_IMAGE)
        status = nb_forward(sim, t->x[point], &image);
    else
        status = nb_vjp(sim, t->x[point], 1, &cotangent, v->now);
    t->ms = 1e3 * (timing_seconds() - start);
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

/* Returns the other x: moved a little within its bounds, as in a fit. A parameter at its
 * lower bound, such as the thickness of absent water, stays. */
static double moved(const nb_param *p)
{
    static const char names[] = "misset_x cell_a distance mosaic default_f fluence phi0 "
                                "ncells_a b_factor thickness water psf_fwhm";
    const double up = p->value + 0.02 * p->scale;
    if (option_listed(names, p->name) && !(p->smooth & NB_SMOOTH_ZERO)
        && p->value > p->lower && up <= p->upper)
        return up;
    return p->value;
}

static int out_of_memory(const struct attempt *t)
{
    return message_failure(t->bench->run->messages, "out of memory for a comparison");
}

static int allocate(struct attempt *t)
{
    const nb_simulator *const sim = t->side[SIDE_EAGER].sim;
    struct values *const image = &t->of[OPERATION_IMAGE];
    struct values *const gradient = &t->of[OPERATION_GRADIENT];
    const size_t npixel = (size_t)t->nslow * (size_t)t->nfast, nparam = nb_nparam(sim);
    image->n = npixel;
    gradient->n = nparam;
    if (!(image->now = make_doubles(npixel)) || !(gradient->now = make_doubles(nparam))
        || !(t->cotangent = make_doubles(npixel)) || !(t->x[0] = make_doubles(nparam))
        || !(t->x[1] = make_doubles(nparam)) || !(gradient->weight = make_doubles(nparam)))
        return out_of_memory(t);
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
        for (int i = 0; i < SIDES * POINTS; i++)
            free(t->of[operation].first[i / POINTS][i % POINTS]);
        free(t->of[operation].now);
        free(t->of[operation].weight);
    }
    for (int i = 0; i < POINTS; i++) free(t->x[i]);
    free(t->cotangent);
}

/* ---- differences ---- */

static int same_bits(const struct values *v, const double *a, const double *b)
{
    return memcmp(a, b, v->n * sizeof *a) == 0;
}

/* Compare both sides; the row gets the larger difference of both points. */
static void compare(const struct values *v, struct bench_row *row)
{
    for (int point = 0; point < POINTS; point++) {
        const double *const eager = v->first[SIDE_EAGER][point];
        const double *const compiled = v->first[SIDE_COMPILED][point];
        double sum = 0, whole = 0;
        for (size_t i = 0; i < v->n; i++) {
            const double weight = v->weight ? v->weight[i] : 1;
            sum += weight * fabs(compiled[i] - eager[i]);
            whole += weight * fabs(eager[i]);
        }
        if (point == 0) row->mean = whole / (double)v->n;
        if (same_bits(v, eager, compiled)) continue;
        row->equal = 0;
        const double relative = sum > 0 ? sum / whole : sum; /* a NaN stays a NaN */
        if (isnan(row->relative) || relative < row->relative) continue;
        row->relative = relative;
        row->difference = sum / (double)v->n;
    }
    row->moves = !same_bits(v, v->first[SIDE_EAGER][0], v->first[SIDE_EAGER][1]);
}

/* Make a call. Its result is kept if it is the first at a point, and else compared with the
 * first. */
static int check(struct attempt *t, int side, int operation, int point)
{
    struct values *const v = &t->of[operation];
    double **const first = &v->first[side][point];
    const nb_status status = call(t, side, operation, point);
    if (status == NB_ERR_UNSUPPORTED && operation == OPERATION_GRADIENT) {
        t->has_gradient = 0; /* for nanoBragg's curved detector */
        return 0;
    }
    if (status != NB_OK) return library_failed(t, status, t->side[side].ctx);
    if (*first) {
        t->row[operation].repeats[side] &= same_bits(v, *first, v->now);
        return 0;
    }
    if (point == 0) t->row[operation].first[side] += t->ms;
    *first = v->now;
    v->now = make_doubles(v->n);
    return v->now ? 0 : out_of_memory(t);
}

/* The calls of each side, at x, at the other point, and at x again: first images, then
 * gradients with an image between them. */
static const struct {
    int operation, point;
} calls[] = {
    {OPERATION_IMAGE, 0},    {OPERATION_IMAGE, 1}, {OPERATION_IMAGE, 0},
    {OPERATION_GRADIENT, 0}, {OPERATION_IMAGE, 1}, {OPERATION_GRADIENT, 1},
    {OPERATION_GRADIENT, 0},
};
enum { CALLS = sizeof calls / sizeof *calls };

static int check_side(struct attempt *t, int side)
{
    for (int i = 0; i < CALLS; i++) {
        if (calls[i].operation == OPERATION_GRADIENT && !t->has_gradient) continue;
        const int code = check(t, side, calls[i].operation, calls[i].point);
        if (code) return code;
    }
    return 0;
}

/* ---- times ---- */

/* Measure the medians of both sides, whose calls alternate, so that a disturbance of the
 * machine affects both. */
static int time_both(struct attempt *t, int operation, double out[SIDES],
                     double least[SIDES])
{
    const struct bench_effort *const effort = &t->bench->effort;
    const double start = timing_seconds();
    double ms[SIDES][BENCH_TIMES_MOST];
    int n = 0;
    for (; n < effort->most; n++) {
        if (n >= effort->least && timing_seconds() - start > effort->seconds) break;
        for (int i = 0; i < SIDES; i++) {
            const int side = (i + n) % SIDES;
            const nb_status status = call(t, side, operation, 0);
            if (status != NB_OK) return library_failed(t, status, t->side[side].ctx);
            ms[side][n] = t->ms;
        }
    }
    for (int side = 0; side < SIDES; side++) {
        out[side] = timing_median(ms[side], n); /* this sorts them */
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
        sum += v->first[SIDE_EAGER][0][i];
        peak = fmax(peak, v->first[SIDE_EAGER][0][i]);
    }
    const double left_out = eager->tolerance + other->tolerance;
    return sum > 0 ? fmin(gate, fmax(most, left_out * peak * (double)v->n / sum)) : most;
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

static void finish_rows(struct attempt *t)
{
    for (int operation = 0; operation < OPERATIONS; operation++) {
        struct bench_row *const row = &t->row[operation];
        if (operation == OPERATION_GRADIENT && !t->has_gradient) continue;
        row->values = t->of[operation].n;
        compare(&t->of[operation], row);
        for (int side = 0; side < SIDES; side++) {
            nb_simulator *const sim = t->side[side].sim;
            nb_simulator_stats(sim, &row->stats[side]);
            (void)nb_describe(sim, t->x[0], &row->about[side]);
        }
        keep_plan(t->side[SIDE_COMPILED].sim, row);
        row->allowed = allowed(t, operation);
        /* a NaN fails too */
        row->fails = !row->repeats[SIDE_EAGER] || !row->repeats[SIDE_COMPILED]
                     || (!row->equal && !(row->relative <= row->allowed));
    }
}

/* Make the context and the simulator of a side, and all memory with the first side. */
static int start_side(struct attempt *t, int side)
{
    const double start = timing_seconds();
    const int code = open_side(t, side, &t->c->scene, &t->how);
    nb_description d;
    t->row[OPERATION_IMAGE].first[side] = 1e3 * (timing_seconds() - start);
    if (code || side != SIDE_EAGER) return code;
    (void)nb_describe(t->side[side].sim, NULL, &d);
    t->nslow = d.nslow;
    t->nfast = d.nfast;
    return allocate(t);
}

static int measure(struct attempt *t)
{
    int code = 0;
    for (int operation = 0; operation < OPERATIONS && !code; operation++) {
        struct bench_row *const row = &t->row[operation];
        const double start = timing_seconds(), used = timing_thread_seconds();
        if (operation == OPERATION_GRADIENT && !t->has_gradient) continue;
        code = time_both(t, operation, row->steady, row->least);
        row->share = (timing_thread_seconds() - used) / (timing_seconds() - start);
    }
    return code ? code : time_fixed(t);
}

static struct attempt attempt_at(struct bench *bench, const struct bench_case *c,
                                 int precision)
{
    struct attempt t = {.bench = bench, .c = c, .how = c->how, .has_gradient = 1};
    t.how.precision = precision;
    for (int operation = 0; operation < OPERATIONS; operation++) {
        t.row[operation] = (struct bench_row){.operation = operation,
                                              .precision = precision,
                                              .equal = 1,
                                              .share = 1,
                                              .repeats = {1, 1},
                                              .fixed = {-1, -1}};
        memcpy(t.row[operation].name, c->name, sizeof c->name);
    }
    return t;
}

int bench_run(struct bench *bench, const struct bench_case *c, int precision)
{
    struct attempt t = attempt_at(bench, c, precision);
    int code = 0;
    for (int side = 0; side < SIDES && !code; side++) {
        code = start_side(&t, side);
        if (!code) code = check_side(&t, side);
    }
    if (!code) finish_rows(&t);
    if (!code && bench->effort.most > 0) code = measure(&t);
    for (int operation = 0; operation <= t.has_gradient && !code; operation++)
        bench->rows[bench->nrow++] = t.row[operation];
    free_run(&t);
    return code;
}

/* Returns the seconds for which an operation is timed, if a call takes `call` seconds. A
 * region of one pixel is taken to need half of that. */
static double timed_seconds(const struct bench_effort *effort, double call)
{
    const double both = SIDES * call, all = effort->most * both;
    return fmax(effort->least * both, fmin(effort->seconds, all))
           + fmin(effort->seconds, all / 2);
}

int bench_expect(struct bench *bench, const struct bench_case *c)
{
    struct attempt t = attempt_at(bench, c, bench->precisions[0]);
    double call[OPERATIONS] = {0, 0}, seconds;
    int code = start_side(&t, SIDE_EAGER);
    seconds = SIDES * 1e-3 * t.row[OPERATION_IMAGE].first[SIDE_EAGER];
    for (int operation = 0; operation <= t.has_gradient && !code; operation++) {
        for (int i = 0; i < 2 && !code; i++) code = check(&t, SIDE_EAGER, operation, 0);
        call[operation] = 1e-3 * t.ms;
        seconds += timed_seconds(&bench->effort, call[operation]);
    }
    for (int i = 0; i < CALLS; i++) seconds += SIDES * call[calls[i].operation];
    bench->expected += seconds * bench->nprecision;
    free_run(&t);
    return code;
}
