/*
 * test_joint.c - fits of several shots: threads and processes do not move a bit; shots that
 * fail or stand out are left out; cancels from other threads.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fit/among.h"
#include "fit/stills.h"
#include "support/renders.h"
#include "support/tap.h"

static struct stills stills;

/* ---- threads and processes ---- */

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

/* Fits of the stills by n processes, each with a context of so many threads. */
static void make_among(struct among *among, int n, int threads,
                       const nb_fit_options *options)
{
    *among = (struct among){.n = n};
    for (int i = 0; i < n; i++)
        among->fit[i] = stills_fit(&stills, renders_context(threads), options);
}

static const char *message_of(const struct among *among, int i)
{
    return nb_context_message(nb_fit_context(among->fit[i]));
}

/* Another fit for process i, or NULL. */
static void replace(struct among *among, int i, nb_fit *fit)
{
    nb_context *ctx = nb_fit_context(among->fit[i]);

    nb_fit_free(among->fit[i]);
    nb_context_free(ctx);
    among->fit[i] = fit;
}

static void free_among(struct among *among)
{
    for (int i = 0; i < among->n; i++) replace(among, i, NULL);
}

/* All processes ended with a status and a message; the fits are freed. */
static void ended(struct among *among, nb_status status, const char *words)
{
    for (int i = 0; i < among->n; i++)
        tap_check(among->status[i] == status
                      && (!among->fit[i] || strstr(message_of(among, i), words)),
                  "process %d: %d, %s", i, (int)among->status[i],
                  among->fit[i] ? message_of(among, i) : "no fit");
    free_among(among);
}

static int processes_same_bits(void)
{
    nb_context *ctx = renders_context(1);
    nb_fit_result first, r;
    struct among among;
    nb_fit *fit;

    stills_make(&stills, ctx, STILLS_MOST, 1, 1);
    fit = stills_fit(&stills, ctx, &stills_options);
    first = stills_run(fit, NB_OK);
    for (int n = 1; n <= 7; n++) {
        int wrong = 0;

        make_among(&among, n, 1 + n % 2, &stills_options);
        among_run(&among);
        for (int i = 0; i < n; i++) {
            if (among.status[i] != NB_OK || nb_fit_result_get(among.fit[i], &r) != NB_OK)
                abort();
            for (size_t k = 0; k < r.nvalue; k++)
                wrong += r.value[k].value != first.value[k].value
                         || r.value[k].error != first.value[k].error;
            wrong += r.passes != first.passes || r.loss != first.loss
                     || r.misfit != first.misfit;
        }
        tap_check(wrong == 0, "%d processes: %d other numbers", n, wrong);
        free_among(&among);
    }
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

static void refused(nb_fit *fit, nb_status status, const char *word)
{
    const char *message = nb_context_message(nb_fit_context(fit));

    tap_check(status == NB_ERR_ARGUMENT && strstr(message, word), "refused: %s", message);
}

static int unused(void *user, double *numbers, size_t n)
{
    (void)user, (void)n;
    *numbers = NAN;
    abort();
}

/* Processes whose fits differ, or that lack one, end together. */
static int wrong_processes(void)
{
    nb_context *ctx = renders_context(1);
    static struct stills other;
    nb_fit_options options = stills_options;
    struct among among;
    nb_fit *fit;

    stills_make(&stills, ctx, 3, 1, 1);
    fit = stills_fit(&stills, ctx, &stills_options);
    refused(fit, nb_fit_run_among(fit, -1, 2, unused, NULL), "process -1 of 2");
    refused(fit, nb_fit_run_among(fit, 2, 2, unused, NULL), "process 2 of 2");
    refused(fit, nb_fit_run_among(fit, 0, 1, NULL, NULL), "exchange");
    tap_check(nb_fit_run_among(NULL, 0, 0, unused, NULL) == NB_ERR_ARGUMENT
                  && !nb_fit_context(NULL),
              "a fit NULL is refused");
    nb_fit_free(fit);
    make_among(&among, 3, 1, &stills_options);
    other = stills;
    other.scene[2].crystal.scale *= 1 + 1e-15;
    other.shot[2].scene = other.scene + 2;
    replace(&among, 1, stills_fit(&other, renders_context(1), &stills_options));
    among_run(&among);
    ended(&among, NB_ERR_ARGUMENT, "rank 1: the fit goes another way");
    make_among(&among, 2, 1, &stills_options);
    replace(&among, 1, NULL);
    among_run(&among);
    ended(&among, NB_ERR_ARGUMENT, "rank 1: there is no fit");
    options.method = NB_FIT_LBFGS;
    make_among(&among, 2, 1, &options);
    among_run(&among);
    ended(&among, NB_ERR_UNSUPPORTED, "rank 0: a fit by L-BFGS");
    for (int at = 1; at < 9; at++) {
        make_among(&among, 2, 1, &stills_options);
        among.fails_at = at;
        among_run(&among);
        ended(&among, NB_ERR_DEVICE, "could not exchange");
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

/* Cancels in process 1, once. */
struct stopping {
    int at, is_over;
};

static int stop(void *user, const nb_fit_state *state)
{
    struct stopping *s = user;

    if (state->passes < s->at || s->is_over) return 0;
    return s->is_over = 1;
}

/* An error in one process ends the run of all, and another goes on together. */
static int ended_elsewhere(void)
{
    nb_context *ctx = renders_context(1);
    nb_fit_options options = stills_options;
    struct stopping stopping = {.at = 2};
    struct among among;
    nb_fit_result r;

    stills_make(&stills, ctx, 2, 1, 1);
    make_among(&among, 3, 1, &options);
    options.progress = stop;
    options.user = &stopping;
    replace(&among, 1, stills_fit(&stills, renders_context(1), &options));
    among_run(&among);
    for (int i = 0; i < 3; i++) {
        if (nb_fit_result_get(among.fit[i], &r) != NB_OK) abort();
        tap_check(among.status[i] == NB_ERR_CANCELLED && r.end == NB_FIT_CANCELLED
                      && r.passes == 2
                      && !strcmp(message_of(&among, i),
                                 "rank 1: the progress handler stopped the fit"),
                  "process %d: end %d after %d, %s", i, r.end, r.passes,
                  message_of(&among, i));
    }
    for (int i = 0; i < 3; i++) nb_fit_cancel(among.fit[i]);
    among_run(&among);
    for (int i = 0; i < 3; i++)
        tap_check(among.status[i] == NB_ERR_CANCELLED
                      && !strcmp(message_of(&among, i), "rank 0: the fit was cancelled"),
                  "process %d: %s", i, message_of(&among, i));
    among_run(&among); /* a cancel ends one run */
    for (int i = 0; i < 3; i++) {
        if (nb_fit_result_get(among.fit[i], &r) != NB_OK) abort();
        tap_check(among.status[i] == NB_OK && r.end == NB_FIT_CONVERGED,
                  "process %d: end %d", i, r.end);
    }
    free_among(&among);
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

/* A process learns why a shot failed that it did not evaluate. */
static int reason_of_another(void)
{
    nb_context *ctx = renders_context(1);
    struct loading l[2];
    struct among among = {.n = 2};
    nb_fit_result r;

    stills_make(&stills, ctx, 3, 1, 1);
    for (int i = 0; i < 2; i++) {
        const nb_fit_options options = {.shared = "cell_a", .load = load, .user = l + i};

        l[i] = (struct loading){.fails_from = 2,
                                .status = NB_ERR_FILE,
                                .failure = i ? "disk of process 1" : "disk of process 0"};
        among.fit[i] = stills_fit(&stills, renders_context(1), &options);
    }
    among_run(&among);
    for (int i = 0; i < 2; i++) {
        if (among.status[i] != NB_OK || nb_fit_result_get(among.fit[i], &r) != NB_OK)
            abort();
        tap_check(r.shot[1].left_out && strstr(r.shot[1].left_out, "disk of process 1"),
                  "process %d: %s", i, r.shot[1].left_out);
        tap_check((l[i].loads[0] > 1) == (i == 0) && (l[i].loads[2] > 1) == (i == 1),
                  "loads %d and %d", l[i].loads[0], l[i].loads[2]);
    }
    free_among(&among);
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

/* What happens after the first pass: so many steps to where loads fail, then one that is
 * free. */
struct refusing {
    nb_fit *fit;
    struct loading loading;
    int refusals;
    double first[2 * STILLS_OWN], step;
};

static nb_status load_refused(void *user, int64_t shot, nb_shot *out)
{
    return load(&((struct refusing *)user)->loading, shot, out);
}

static int refuse(void *user, const nb_fit_state *state)
{
    struct refusing *r = user;
    nb_fit_result found;
    double square = 0;

    r->loading.fails_from = state->passes <= r->refusals ? 0 : 1000000;
    if (state->passes != 1 && state->passes != r->refusals + 2) return 0;
    if (nb_fit_result_get(r->fit, &found) != NB_OK) abort();
    for (size_t i = 0; i < found.nvalue; i++) {
        if (state->passes == 1) r->first[i] = found.value[i].value;
        if (i < STILLS_OWN) square += pow(found.value[i].value - r->first[i], 2);
    }
    r->step = sqrt(square);
    return 0;
}

/* A step to where there is no finite loss is refused, and the next ones are shorter; of one
 * shot, or of each of two that are fitted alone. */
static void refuse_steps(nb_context *ctx, int nshot)
{
    double step = 0;

    for (int refusals = 0; refusals <= 8; refusals++) { /* damped by up to 1e8 */
        struct refusing refusing = {.refusals = refusals};
        const nb_fit_options options = {.own = "misset scale",
                                        .load = load_refused,
                                        .progress = refuse,
                                        .user = &refusing};
        nb_fit_result r;

        refusing.loading =
            (struct loading){.fails_from = 1000000, .all = 1, .status = NB_ERR_DOMAIN};
        stills_make(&stills, ctx, nshot, 1, 1);
        refusing.fit = stills_fit(&stills, ctx, &options);
        r = stills_run(refusing.fit, NB_OK);
        tap_check(refusing.step > 0 && (refusals == 0 || refusing.step < step / 3),
                  "after %d refusals a step of %.3g", refusals, refusing.step);
        step = refusing.step;
        tap_check(r.end == NB_FIT_CONVERGED
                      && stills_gain(refusing.fit, &r) < 1e-3 * pow(r.error_factor, 2),
                  "end %d, %g left to gain, errors times %g", r.end,
                  stills_gain(refusing.fit, &r), r.error_factor);
        nb_fit_free(refusing.fit);
    }
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
        {"processes_same_bits_threads", processes_same_bits},
        {"wrong_processes_threads", wrong_processes},
        {"ended_elsewhere_threads", ended_elsewhere},
        {"outlier", outlier},
        {"failing_threads", failing},
        {"failing_late", failing_late},
        {"failing_memory_threads", failing_memory},
        {"reason_of_another_threads", reason_of_another},
        {"shared_against_own", shared_against_own},
        {"impossible_steps", impossible_steps},
        {"cancelled_from_a_thread", cancelled_from_a_thread},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
