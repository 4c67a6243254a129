/*
 * test_joint.c - fits of several shots: threads and parts do not move a bit; shots that
 * fail or stand out are left out; cancels from other threads.
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
    double truth[STILLS_VALUES] = {0}, loss, misfit;
    nb_fit_result r;
    nb_fit *fit;
    int wrong = 0, passes = 0;

    stills_make(&stills, ctx, STILLS_MOST, 1, 1);
    fit = stills_fit(&stills, ctx, &stills_options);
    r = stills_run(fit, NB_OK);
    for (size_t i = 0; i < r.nvalue; i++) truth[i] = r.value[i].value;
    passes = r.passes;
    loss = r.loss;
    misfit = r.misfit;
    nb_fit_free(fit);
    fit = stills_fit(&stills, ctx, &stills_options);
    for (unsigned cuts = 0;; cuts++) {
        nb_fit_request request;

        if (nb_fit_ask(fit, &request) != NB_OK) abort();
        if (request.done) break;
        /* a look at the result between request and answer disturbs neither */
        if (cuts > 0 && nb_fit_result_get(fit, &r) != NB_OK) abort();
        if (answer(fit, &request, cuts % 16) != NB_OK) abort();
    }
    if (nb_fit_result_get(fit, &r) != NB_OK) abort();
    for (size_t i = 0; i < r.nvalue; i++) wrong += r.value[i].value != truth[i];
    tap_check(wrong == 0 && r.passes == passes,
              "in all divisions into parts, %d passes: %d other values", r.passes, wrong);
    tap_check(r.loss == loss && r.misfit == misfit,
              "loss %.17g and %.17g, misfit %g and %g", r.loss, loss, r.misfit, misfit);
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
    tap_check(nb_fit_run(fit) == NB_ERR_ARGUMENT, "and again");
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

/* A part tells why a shot failed, to fits that did not evaluate it. */
static int reason_in_parts(void)
{
    nb_context *ctx = renders_context(1);
    struct loading l = {.fails_from = 2, .status = NB_ERR_FILE};
    const nb_fit_options options = {.shared = "cell_a", .load = load, .user = &l};
    const nb_fit_options sound = {.shared = "cell_a"};
    nb_fit *fit[2];
    nb_fit_request request;
    nb_fit_result r;
    double *part;
    const double *told;
    size_t size;

    stills_make(&stills, ctx, 3, 1, 1);
    fit[0] = stills_fit(&stills, ctx, &options);
    fit[1] = stills_fit(&stills, ctx, &sound);
    for (int i = 0; i < 2; i++)
        if (nb_fit_ask(fit[i], &request) != NB_OK || request.done) abort();
    part = malloc(request.most * sizeof *part);
    if (!part || nb_fit_part(fit[0], 0, 3, part, &size) != NB_OK || size > request.most)
        abort();
    told = part;
    size--;
    refused(fit[1], nb_fit_tell(fit[1], 1, &told, &size), "part 0");
    size++;
    if (nb_fit_tell(fit[1], 1, &told, &size) != NB_OK
        || nb_fit_result_get(fit[1], &r) != NB_OK)
        abort();
    tap_check(r.shot[1].left_out
                  && strstr(r.shot[1].left_out, "shot 1 could not be loaded"),
              "left out: %s", r.shot[1].left_out);
    free(part);
    nb_fit_free(fit[0]);
    nb_fit_free(fit[1]);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* A shared number that the own ones of all shots make up for is free, whether or not
 * something else is shared. */
static int shared_against_own(void)
{
    nb_context *ctx = renders_context(1);

    for (int k = 0; k < 2; k++) {
        const nb_fit_options options = {.shared = k ? "fluence cell_a" : "fluence",
                                        .own = "scale"};
        nb_fit_result r;
        nb_fit *fit;
        int wrong = 0;

        stills_make(&stills, ctx, 3, 0, 0);
        for (int i = 0; i < 3; i++) {
            stills.scene[i].background.water = 0;
            stills.scene[i].crystal.scale *= 1.1;
            stills.shot[i].target.kind = NB_LOSS_GAUSS;
        }
        fit = stills_fit(&stills, ctx, &options);
        r = stills_run(fit, NB_OK);
        for (size_t i = 0; i < r.nvalue; i++)
            wrong += (isinf(r.value[i].error) != 0) != (k == 0 || i != 1);
        tap_check(r.nfree == 1 && wrong == 0, "%zu free: %s; %d errors are wrong", r.nfree,
                  r.nfree ? r.free[0] : "", wrong);
        nb_fit_free(fit);
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

/* Lack of memory in one thread ends the others' shots too, and is what is reported. */
static int failing_memory(void)
{
    nb_context *ctx = renders_context(2);
    struct loading l = {.fails_from = 2, .status = NB_ERR_MEMORY};
    const nb_fit_options options = {.shared = "cell_a scale", .load = load, .user = &l};

    stills_make(&stills, ctx, 2, 1, 0);
    stills.scene[0].crystal.ndomains = 4000; /* is at work when the other one fails */
    for (int i = 0; i < 3; i++) {
        nb_fit *fit;

        memset(l.loads, 0, sizeof l.loads);
        fit = stills_fit(&stills, ctx, &options);
        tap_check(nb_fit_run(fit) == NB_ERR_MEMORY, "%s", nb_context_message(ctx));
        nb_fit_free(fit);
    }
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
    tap_check(r.end == NB_FIT_CONVERGED
                  && stills_gain(fit, &r) < 1e-3 * pow(r.error_factor, 2),
              "end %d, %g left to gain, errors times %g", r.end, stills_gain(fit, &r),
              r.error_factor);
    nb_fit_free(fit);
}

static int impossible_steps(void)
{
    nb_context *ctx = renders_context(1);

    for (int nshot = 1; nshot <= 2; nshot++) refuse_steps(ctx, nshot);
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
        {"failing_memory_threads", failing_memory},
        {"reason_in_parts", reason_in_parts},
        {"shared_against_own", shared_against_own},
        {"impossible_steps", impossible_steps},
        {"cancelled_from_a_thread", cancelled_from_a_thread},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
