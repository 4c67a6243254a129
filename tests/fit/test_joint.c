/*
 * test_joint.c - fits of several shots: threads and parts do not move a bit; shots that
 * fail or stand out are left out; restraints; cancels from other threads.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fit/stills.h"
#include "support/renders.h"
#include "support/tap.h"

static struct stills stills;

/* ---- threads and parts ---- */

static int threads_same_bits(void)
{
    double found[4][2 * STILLS_VALUES + 1];
    int passes[4];

    for (int t = 0; t < 4; t++) {
        nb_context *ctx = renders_context(1 + t);
        nb_fit *fit;
        nb_fit_result r;

        stills_make(&stills, ctx, STILLS_MOST, 1, 1);
        fit = stills_fit(&stills, ctx, &stills_options);
        r = stills_run(fit, NB_OK);
        for (size_t i = 0; i < r.nvalue; i++)
            found[t][2 * i] = r.value[i].value, found[t][2 * i + 1] = r.value[i].error;
        found[t][2 * STILLS_VALUES] = r.loss;
        passes[t] = r.passes;
        tap_check(r.end == NB_FIT_CONVERGED && stills_pull(&r) < 4.5,
                  "%d passes, largest pull %.2f", r.passes, stills_pull(&r));
        tap_check(memcmp(found[0], found[t], sizeof found[0]) == 0
                      && passes[t] == passes[0],
                  "%d threads: the bits of one", 1 + t);
        nb_fit_free(fit);
        nb_context_free(ctx);
    }
    return TAP_PASS;
}

/* A request answered in parts: cut k of [0, 5) at each bit of `cuts`, told backwards. */
static nb_status answer(nb_fit *fit, const nb_fit_request *request, unsigned cuts)
{
    double *part[STILLS_MOST];
    const double *told[STILLS_MOST] = {NULL};
    size_t size[STILLS_MOST], told_size[STILLS_MOST] = {0};
    int n = 0, first = 0;
    nb_status status = NB_OK;

    for (int end = 1; end <= (int)request->nshot; end++) {
        if (end < (int)request->nshot && !(cuts >> (end - 1) & 1)) continue;
        part[n] = malloc(request->most * sizeof **part);
        if (!part[n] || nb_fit_part(fit, first, end - first, part[n], size + n) != NB_OK
            || size[n] > request->most)
            abort();
        first = end;
        n++;
    }
    for (int i = 0; i < n; i++) told[i] = part[n - 1 - i], told_size[i] = size[n - 1 - i];
    status = nb_fit_tell(fit, n, told, told_size);
    for (int i = 0; i < n; i++) free(part[i]);
    return status;
}

static int parts_same_bits(void)
{
    nb_context *ctx = renders_context(1);
    double truth[STILLS_VALUES];
    nb_fit_result r;
    nb_fit *fit;
    int wrong = 0, passes = 0;

    stills_make(&stills, ctx, STILLS_MOST, 1, 1);
    fit = stills_fit(&stills, ctx, &stills_options);
    r = stills_run(fit, NB_OK);
    for (size_t i = 0; i < r.nvalue; i++) truth[i] = r.value[i].value;
    passes = r.passes;
    nb_fit_free(fit);
    fit = stills_fit(&stills, ctx, &stills_options);
    for (unsigned cuts = 0;; cuts++) {
        nb_fit_request request;

        if (nb_fit_ask(fit, &request) != NB_OK) abort();
        if (request.done) break;
        if (answer(fit, &request, cuts % 16) != NB_OK) abort();
    }
    if (nb_fit_result_get(fit, &r) != NB_OK) abort();
    for (size_t i = 0; i < r.nvalue; i++) wrong += r.value[i].value != truth[i];
    tap_check(wrong == 0 && r.passes == passes,
              "in all divisions into parts, %d passes: %d other values", r.passes, wrong);
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

static void refused(nb_fit *fit, nb_status status, const char *word)
{
    const char *message = nb_context_message(nb_fit_context(fit));

    tap_check(status == NB_ERR_ARGUMENT && strstr(message, word), "refused: %s", message);
}

/* What is not a part of this request is refused, and the request stays open. */
static int wrong_parts(void)
{
    nb_context *ctx = renders_context(1);
    double *part[3], scratch;
    const double *told[3];
    nb_fit_request request;
    nb_fit *fit;
    size_t size[3], none;

    stills_make(&stills, ctx, 3, 1, 1);
    fit = stills_fit(&stills, ctx, &stills_options);
    refused(fit, nb_fit_part(fit, 0, 1, &scratch, &none), "no request");
    refused(fit, nb_fit_tell(fit, 1, told, size), "no request");
    if (nb_fit_ask(fit, &request) != NB_OK) abort();
    tap_check(request.nvalue == 14 && request.nshot == 3 && !request.done, "a request");
    for (int i = 0; i < 3; i++) {
        part[i] = malloc(request.most * sizeof **part);
        if (!part[i] || nb_fit_part(fit, i, 1, part[i], size + i) != NB_OK) abort();
        told[i] = part[i];
    }
    refused(fit, nb_fit_part(fit, 3, 1, part[0], &none), "within");
    refused(fit, nb_fit_part(fit, -1, 1, part[0], &none), "within");
    refused(fit, nb_fit_part(fit, 0, 4, part[0], &none), "within");
    refused(fit, nb_fit_part(fit, 0, -1, part[0], &none), "within");
    refused(fit, nb_fit_part(fit, 0, 1, NULL, &none), "place");
    refused(fit, nb_fit_part(fit, 0, 1, part[0], NULL), "place");
    refused(fit, nb_fit_tell(fit, 0, told, size), "parts");
    refused(fit, nb_fit_tell(fit, 1, NULL, size), "parts");
    refused(fit, nb_fit_tell(fit, 1, told, NULL), "parts");
    refused(fit, nb_fit_tell(fit, 2, told, size), "each of the 3");
    told[2] = part[1], size[2] = size[1];
    refused(fit, nb_fit_tell(fit, 3, told, size), "two parts");
    told[2] = NULL;
    refused(fit, nb_fit_tell(fit, 3, told, size), "part 2");
    told[2] = part[2];
    size[2]--;
    refused(fit, nb_fit_tell(fit, 3, told, size), "part 2");
    size[2]++;
    part[2][0]++; /* of the next request */
    refused(fit, nb_fit_tell(fit, 3, told, size), "part 2");
    part[2][0]--;
    tap_check(nb_fit_tell(fit, 3, told, size) == NB_OK, "then the right ones are taken");
    refused(fit, nb_fit_tell(fit, 3, told, size), "no request");
    for (int i = 0; i < 3; i++) free(part[i]);
    tap_check(nb_fit_ask(NULL, &request) == NB_ERR_ARGUMENT
                  && nb_fit_part(NULL, 0, 1, &scratch, &none) == NB_ERR_ARGUMENT
                  && nb_fit_tell(NULL, 1, told, size) == NB_ERR_ARGUMENT
                  && nb_fit_fail(NULL, NB_ERR_FILE, "x") == NB_ERR_ARGUMENT
                  && !nb_fit_context(NULL),
              "a fit NULL is refused");
    refused(fit, nb_fit_ask(fit, NULL), "request");
    refused(fit, nb_fit_fail(fit, NB_OK, "x"), "failure");
    refused(fit, nb_fit_fail(fit, NB_ERR_FILE, NULL), "failure");
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* A part that failed elsewhere ends the run, and another goes on; an evaluation ends the
 * request. */
static int ended_elsewhere(void)
{
    nb_context *ctx = renders_context(1);
    nb_fit_request request;
    nb_fit_result r;
    nb_fit *fit;
    double value, scratch;
    size_t none;

    stills_make(&stills, ctx, 2, 1, 1);
    fit = stills_fit(&stills, ctx, &stills_options);
    for (int pass = 0; pass < 2; pass++)
        if (nb_fit_ask(fit, &request) != NB_OK
            || (pass == 0 && answer(fit, &request, 0) != NB_OK))
            abort();
    tap_check(nb_fit_fail(fit, NB_ERR_FILE, "disk of another") == NB_ERR_FILE
                  && !strcmp(nb_context_message(ctx), "disk of another"),
              "%s", nb_context_message(ctx));
    if (nb_fit_result_get(fit, &r) != NB_OK) abort();
    tap_check(r.end == NB_FIT_FAILED && r.passes == 1, "end %d", r.end);
    if (nb_fit_ask(fit, &request) != NB_OK || nb_fit_evaluate(fit, NULL, &value, NULL))
        abort();
    refused(fit, nb_fit_part(fit, 0, 1, &scratch, &none), "no request");
    nb_fit_cancel(fit);
    if (nb_fit_ask(fit, &request) != NB_OK) abort();
    tap_check(nb_fit_part(fit, 0, 0, NULL, NULL) == NB_ERR_ARGUMENT, "no place");
    {
        double *part = malloc(request.most * sizeof *part);

        tap_check(part && nb_fit_part(fit, 0, 0, part, &none) == NB_ERR_CANCELLED,
                  "cancelled: %s", nb_context_message(ctx));
        free(part);
    }
    if (nb_fit_result_get(fit, &r) != NB_OK) abort();
    tap_check(r.end == NB_FIT_CANCELLED, "end %d", r.end);
    r = stills_run(fit, NB_OK);
    tap_check(r.end == NB_FIT_CONVERGED, "end %d", r.end);
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* ---- shots that are left out ---- */

/* A still whose image is that of another crystal. */
static int outlier(void)
{
    nb_context *ctx = renders_context(1);
    nb_fit_options options = stills_options;
    nb_fit_result r;
    nb_fit *fit;
    int left_out = 0;

    options.passes = 15; /* those of the still that nothing explains do not count */
    stills_make(&stills, ctx, STILLS_MOST, 1, 0.3);
    memcpy(stills.photons[2], stills.photons[4], sizeof stills.photons[2]);
    stills.shot[2].name = "bad.img";
    fit = stills_fit(&stills, ctx, &options);
    r = stills_run(fit, NB_OK);
    for (int i = 0; i < STILLS_MOST; i++) left_out += r.shot[i].left_out != NULL;
    tap_check(left_out == 1 && r.shot[2].left_out && !strcmp(r.shot[2].name, "bad.img")
                  && strstr(r.shot[2].left_out, "standard deviations"),
              "%d left out, %s: %s", left_out, r.shot[2].name, r.shot[2].left_out);
    tap_check(r.end == NB_FIT_CONVERGED && stills_pull(&r) < 4.5,
              "end %d, largest pull of the others %.2f", r.end, stills_pull(&r));
    tap_check(isnan(r.shot[2].loss) && r.shot[1].loss > 0, "losses %g and %g",
              r.shot[2].loss, r.shot[1].loss);
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

struct loading {
    int fails_from; /* which load of shot 1 is the first that fails */
    int all; /* 1: those of the other shots too */
    int loads[STILLS_MOST], held, wrong;
    nb_status status;
    const char *failure; /* NULL: none is told */
};

static nb_status load(void *user, int64_t shot, nb_shot *out)
{
    struct loading *l = user;

    if (++l->loads[shot] >= l->fails_from && (shot == 1 || l->all)) {
        out->failure = l->failure;
        return l->status;
    }
    l->held++;
    *out = stills.shot[shot];
    return NB_OK;
}

static void unload(void *user, int64_t shot, nb_shot *loaded)
{
    struct loading *l = user;

    l->wrong += loaded->scene != stills.scene + shot;
    l->held--;
}

/* A file that cannot be read, from the first or from a later time on. */
static int failing(void)
{
    nb_context *ctx = renders_context(2);

    for (int from = 1; from <= 3; from++) {
        struct loading l = {.fails_from = from,
                            .status = NB_ERR_FILE,
                            .failure = from == 2 ? "b.img is gone" : NULL};
        nb_fit_options options = stills_options;
        nb_fit_result r;
        nb_fit *fit;

        options.load = load, options.unload = unload, options.user = &l;
        stills_make(&stills, ctx, 3, 1, 1);
        fit = stills_fit(&stills, ctx, &options);
        tap_check(l.loads[0] == 1 && l.loads[1] == 1 && l.held == 0,
                  "each is loaded once to make a fit");
        r = stills_run(fit, NB_OK);
        tap_check(r.end == NB_FIT_CONVERGED && r.shot[1].left_out && !r.shot[0].left_out
                      && !r.shot[2].left_out
                      && strstr(r.shot[1].left_out, from == 2 ? "b.img is gone" : "loaded"),
                  "fails at load %d: %s", from, r.shot[1].left_out);
        tap_check(stills_pull(&r) < 4.5, "largest pull of the others %.2f",
                  stills_pull(&r));
        tap_check(l.held == 0 && l.wrong == 0, "%d are still in memory, %d were others",
                  l.held, l.wrong);
        nb_fit_free(fit);
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

/* Where a shot fails among all together, or all do, there is no result to trust. */
static int failing_late(void)
{
    nb_context *ctx = renders_context(1);
    struct loading l = {.fails_from = 1000, .status = NB_ERR_FILE};
    nb_fit_options options = {.shared = "cell_a", .load = load, .user = &l};
    nb_fit_result r;
    nb_fit *fit;

    stills_make(&stills, ctx, 3, 1, 1);
    fit = stills_fit(&stills, ctx, &options);
    l.fails_from = 3;
    tap_check(nb_fit_run(fit) == NB_ERR_FILE && strstr(nb_context_message(ctx), "shot 1"),
              "%s", nb_context_message(ctx));
    tap_check(nb_fit_result_get(fit, &r) == NB_OK && r.end == NB_FIT_FAILED && r.passes == 1
                  && !r.shot[1].left_out,
              "end %d", r.end);
    l.fails_from = 1000;
    r = stills_run(fit, NB_OK);
    tap_check(r.end == NB_FIT_CONVERGED, "then end %d", r.end);
    nb_fit_free(fit);
    memset(l.loads, 0, sizeof l.loads);
    fit = stills_fit(&stills, ctx, &options);
    l.fails_from = 2, l.all = 1;
    tap_check(nb_fit_run(fit) == NB_ERR_ARGUMENT
                  && strstr(nb_context_message(ctx), "every shot"),
              "%s", nb_context_message(ctx));
    nb_fit_free(fit);
    l = (struct loading){.fails_from = 1, .all = 1, .status = NB_ERR_FILE};
    tap_check(nb_fit_create(ctx, 3, NULL, &options, &fit) == NB_ERR_FILE && !fit, "%s",
              nb_context_message(ctx));
    l = (struct loading){.fails_from = 1, .status = NB_ERR_MEMORY};
    tap_check(nb_fit_create(ctx, 3, NULL, &options, &fit) == NB_ERR_MEMORY && !fit, "%s",
              nb_context_message(ctx));
    nb_context_free(ctx);
    return TAP_PASS;
}

/* A step to where there is no finite loss is refused, and the next ones are shorter; of one
 * shot, or of each of two that are fitted alone. */
static void refuse_steps(nb_context *ctx, int nshot)
{
    struct loading l = {.fails_from = 1000, .all = 1, .status = NB_ERR_DOMAIN};
    nb_fit_options options = {.own = "misset scale", .load = load, .user = &l};
    double best[2 * STILLS_OWN], before = INFINITY;
    nb_fit_request request;
    nb_fit_result r;
    nb_fit *fit;

    stills_make(&stills, ctx, nshot, 1, 1);
    fit = stills_fit(&stills, ctx, &options);
    for (int k = 0; k < 10; k++) { /* damped by up to 1e9, which gains next to nothing */
        double square = 0;

        if (nb_fit_ask(fit, &request) != NB_OK || request.done) abort();
        if (k == 0) memcpy(best, request.x, request.nvalue * sizeof *best);
        for (int i = 0; i < STILLS_OWN; i++) square += pow(request.x[i] - best[i], 2);
        if (k > 0) tap_check(sqrt(square) < before / 3, "a step of %.3g", sqrt(square));
        if (k > 0) before = sqrt(square), l.fails_from = 0;
        if (answer(fit, &request, 0) != NB_OK) abort();
    }
    l.fails_from = 1000;
    r = stills_run(fit, NB_OK);
    tap_check(r.end == NB_FIT_CONVERGED && stills_gain(fit, &r) < 1e-3,
              "end %d, %g left to gain", r.end, stills_gain(fit, &r));
    nb_fit_free(fit);
}

static int impossible_steps(void)
{
    nb_context *ctx = renders_context(1);

    for (int nshot = 1; nshot <= 2; nshot++) refuse_steps(ctx, nshot);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* ---- restraints ---- */

enum { RESTRAINED = 3 };
static const nb_restraint restraints[RESTRAINED] =
    {{.name = "cell_a", .centre = 50.003, .sigma = 0.0015},
     {.name = "scale", .centre = 1.2, .sigma = 0.05},
     {.name = "misset_y", .centre = 5, .sigma = 30}};

/* The restraint of value i, or NULL. */
static const nb_restraint *restraint_of(size_t i)
{
    const size_t own = i < STILLS_SHARED ? 0 : 1 + (i - STILLS_SHARED) % 4;

    return i == 0     ? restraints
           : own == 4 ? restraints + 1
           : own == 2 ? restraints + 2
                      : NULL;
}

/* What restraints add to loss, gradient and matrix. */
static int restraints_added(void)
{
    enum { N = STILLS_SHARED + 3 * STILLS_OWN };
    nb_context *ctx = renders_context(1);
    nb_fit_options options = stills_options;
    double x[N], loss[2], gradient[2][N] = {{0}}, diagonal[2][N] = {{0}};
    double matrix[2][N * N] = {{0}}, expected = 0;

    stills_make(&stills, ctx, 3, 1, 1);
    for (int k = 0; k < 2; k++) {
        nb_normal out = {matrix[k], diagonal[k], NULL, gradient[k]};
        nb_fit *fit;

        options.restraint = k ? restraints : NULL;
        options.nrestraint = k ? RESTRAINED : 0;
        fit = stills_fit(&stills, ctx, &options);
        for (size_t i = 0; i < N; i++) x[i] = stills_truth(i) * 1.001;
        if (nb_fit_evaluate(fit, x, loss + k, &out) != NB_OK) abort();
        nb_fit_free(fit);
    }
    for (size_t i = 0; i < N; i++) {
        const nb_restraint *r = restraint_of(i);
        const double weight = r ? 1 / (r->sigma * r->sigma) : 0;
        const double off = r ? x[i] - r->centre : 0;

        expected += weight * off * off / 2;
        tap_close("gradient of a restraint", gradient[1][i] - gradient[0][i], weight * off,
                  1e-12 * (fabs(gradient[0][i]) + fabs(gradient[1][i])));
        tap_close("diagonal", diagonal[1][i] - diagonal[0][i], weight,
                  1e-14 * diagonal[1][i]);
        for (size_t j = 0; j < N; j++)
            if (i != j && matrix[1][i * N + j] != matrix[0][i * N + j])
                tap_check(0, "matrix %zu, %zu", i, j);
        tap_close("matrix", matrix[1][i * (N + 1)] - matrix[0][i * (N + 1)], weight,
                  1e-14 * diagonal[1][i]);
    }
    tap_close("loss", loss[1] - loss[0], expected, 1e-12 * loss[1]);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* The result lies where the slopes of data and restraints cancel, and errors are smaller.
 */
static int restrained(void)
{
    nb_context *ctx = renders_context(1);
    nb_fit_options options = stills_options;
    nb_fit_result r;
    double error[STILLS_VALUES], value[STILLS_VALUES], loss;
    nb_fit *fit;

    for (int k = 0; k < 2; k++) {
        options.restraint = restraints;
        options.nrestraint = k ? RESTRAINED : 0;
        stills_make(&stills, ctx, 3, 1, 1);
        fit = stills_fit(&stills, ctx, &options);
        r = stills_run(fit, NB_OK);
        tap_check(r.end == NB_FIT_CONVERGED && stills_gain(fit, &r) < 1e-3,
                  "end %d, %g left to gain", r.end, stills_gain(fit, &r));
        if (nb_fit_evaluate(fit, NULL, &loss, NULL) != NB_OK) abort();
        /* the loss alone and the one with a matrix are added up in other orders */
        tap_close("loss of the result", r.loss, loss, 1e-14 * loss);
        for (size_t i = 0; k == 0 && i < r.nvalue; i++)
            error[i] = r.value[i].error, value[i] = r.value[i].value;
        if (k == 0) nb_fit_free(fit);
    }
    for (size_t i = 0; i < r.nvalue; i++)
        if (restraint_of(i) == restraints || restraint_of(i) == restraints + 1) {
            const nb_restraint *p = restraint_of(i);
            const double before = fabs(value[i] - p->centre) / p->sigma;
            const double now = fabs(r.value[i].value - p->centre) / p->sigma;

            tap_check(now < before && r.value[i].error < p->sigma
                          && r.value[i].error < error[i],
                      "%s from %.2f to %.2f sigma off, error %.4g after %.4g",
                      r.value[i].param.name, before, now, r.value[i].error, error[i]);
        }
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* Bounds of a restraint hold at every pass and in the result. */
static int within_restraints(void)
{
    static const nb_restraint bounds[] = {
        {.name = "cell_a", .lower = 50.02, .upper = 50.2},
        {.name = "scale", .lower = 0.5, .upper = 1.4},
    };
    nb_context *ctx = renders_context(1);
    nb_fit_options options = stills_options;
    nb_fit_result r;
    nb_fit *fit;

    options.restraint = bounds, options.nrestraint = 2;
    stills_make(&stills, ctx, 2, 1, 0.5);
    stills.scene[0].crystal.cell[0] = stills.scene[1].crystal.cell[0] = 50.03;
    stills.scene[1].crystal.scale = 1.3; /* true: 1.5 */
    fit = stills_fit(&stills, ctx, &options);
    r = stills_run(fit, NB_OK);
    tap_check(r.end == NB_FIT_CONVERGED, "end %d", r.end);
    tap_check(r.value[0].value == 50.02 && r.value[0].bound == -1, "cell_a %.4f, bound %d",
              r.value[0].value, r.value[0].bound);
    tap_check(r.value[9].value == 1.4 && r.value[9].bound == 1, "scale %.4f, bound %d",
              r.value[9].value, r.value[9].bound);
    tap_check(r.value[5].bound == 0 && r.value[5].value > 0.8, "other scale %.4f",
              r.value[5].value);
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* ---- cancelled from elsewhere ---- */

struct canceller {
    nb_fit *fit;
    pthread_barrier_t started, cancelled;
    int has_met;
};

static void *cancel(void *user)
{
    struct canceller *c = user;

    (void)pthread_barrier_wait(&c->started);
    nb_fit_cancel(c->fit);
    (void)pthread_barrier_wait(&c->cancelled);
    return NULL;
}

static int start_canceller(void *user, const nb_fit_state *state)
{
    struct canceller *c = user;

    if (state->passes == 1) (void)pthread_barrier_wait(&c->started);
    if (state->passes < 2 || c->has_met) return 0;
    (void)pthread_barrier_wait(&c->cancelled);
    c->has_met = 1;
    return 0;
}

/* The run ends, wherever the cancel meets it, and the next one goes on. */
static int cancelled_from_a_thread(void)
{
    for (int threads = 1; threads <= 3; threads++) {
        nb_context *ctx = renders_context(threads);
        struct canceller c = {.has_met = 0};
        nb_fit_options options = stills_options;
        nb_fit_result r;
        pthread_t thread;

        options.progress = start_canceller;
        options.user = &c;
        stills_make(&stills, ctx, 4, 1, 1);
        c.fit = stills_fit(&stills, ctx, &options);
        if (pthread_barrier_init(&c.started, NULL, 2)
            || pthread_barrier_init(&c.cancelled, NULL, 2)
            || pthread_create(&thread, NULL, cancel, &c))
            abort();
        r = stills_run(c.fit, NB_ERR_CANCELLED);
        if (!c.has_met) (void)pthread_barrier_wait(&c.cancelled);
        c.has_met = 1;
        if (pthread_join(thread, NULL)) abort();
        tap_check(r.end == NB_FIT_CANCELLED && r.passes >= 1, "end %d after %d passes",
                  r.end, r.passes);
        r = stills_run(c.fit, NB_OK);
        tap_check(r.end == NB_FIT_CONVERGED && stills_pull(&r) < 4.5,
                  "then end %d, largest pull %.2f", r.end, stills_pull(&r));
        (void)pthread_barrier_destroy(&c.started);
        (void)pthread_barrier_destroy(&c.cancelled);
        nb_fit_free(c.fit);
        nb_context_free(ctx);
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"threads_same_bits", threads_same_bits},
        {"parts_same_bits", parts_same_bits},
        {"wrong_parts", wrong_parts},
        {"ended_elsewhere", ended_elsewhere},
        {"outlier", outlier},
        {"failing_threads", failing},
        {"failing_late", failing_late},
        {"impossible_steps", impossible_steps},
        {"restraints_added", restraints_added},
        {"restrained", restrained},
        {"within_restraints", within_restraints},
        {"cancelled_from_a_thread", cancelled_from_a_thread},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
