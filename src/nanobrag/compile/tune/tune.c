/* tune.c - see tune.h. SPDX-License-Identifier: MIT */
#include "compile/tune/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/context.h"
#include "base/log.h"
#include "compile/tune/tuning_cache.h"

/* ---- dry runs ---- */

/* The state of watch_progress(), which ends a dry run that takes too long. */
struct watch {
    struct rehearsal *rehearsal;
    double end; /* the time (s) at which the run is given up */
    int over, stopped; /* the run was given up; the caller asked to stop */
    /* of all runs: time that passed, and processor time of this thread */
    double seconds, ran;
};

static int watch_progress(void *user, double fraction)
{
    struct watch *watch = user;

    (void)fraction;
    watch->stopped |= progress_asked(watch->rehearsal->call);
    watch->over |= clock_seconds(CLOCK_MONOTONIC) > watch->end;
    return watch->stopped || watch->over;
}

static nb_status dry_run(void *user, const struct schedule *schedule, double limit,
                         double *seconds)
{
    struct watch *watch = user;
    struct rehearsal *r = watch->rehearsal;
    const double start = clock_seconds(CLOCK_MONOTONIC);
    const double ran = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    struct progress progress;
    nb_status status;

    progress_begin(&progress, r->ctx);
    progress.handler = watch_progress;
    progress.user = watch;
    r->job.schedule = *schedule;
    watch->end = start + limit;
    watch->over = 0;
    status = r->run(r->user, &progress, &r->job);
    *seconds = clock_seconds(CLOCK_MONOTONIC) - start;
    watch->seconds += *seconds;
    watch->ran += clock_seconds(CLOCK_THREAD_CPUTIME_ID) - ran;
    if (status != NB_ERR_CANCELLED || watch->stopped) return status;
    *seconds = INFINITY;
    return NB_OK;
}

/* Returns 1 if this thread did not run all the time. As it works or spins until the other
 * threads are done, something else must have taken its processor. */
static int is_busy(const struct watch *watch)
{
    /* measured: 0.83 to 1 on a quiet machine, 0.64 beside another process */
    static const double least = 0.75;
    const nb_context *ctx = watch->rehearsal->ctx;

    if (watch->ran >= least * watch->seconds) return 0;
    log_topic(ctx, TOPIC_AUTOTUNE,
              "the machine is busy (a thread ran %.0f %% of the time): the estimate stays",
              100 * watch->ran / watch->seconds);
    log_line(ctx, NB_LOG_NOTE, "tune",
             "the machine is busy: tuning keeps no measurement and goes by its estimates; "
             "tune again on a quiet machine");
    return 1;
}

typedef nb_status measure(struct watch *watch, void *user);

/* Measure with a job that writes its photons, if it has any, to scratch memory. The
 * context's counts of launches stay as they are. */
static nb_status on_scratch(struct rehearsal *r, measure *how, void *user)
{
    nb_context *ctx = r->ctx;
    const uint64_t launches = ctx->launches, compiled = ctx->compiled_launches;
    struct watch watch = {.rehearsal = r};
    double *scratch = NULL;
    char message[CONTEXT_MESSAGE];
    nb_status status;

    if (r->pixels > 0) {
        scratch = calloc(r->pixels, sizeof *scratch);
        if (!scratch)
            return context_fall_back(ctx, "out of memory for tuning: the estimate stays");
        r->job.photons = scratch;
        r->job.packed = 1;
    }
    memcpy(message, ctx->message, sizeof message);
    status = how(&watch, user);
    ctx->launches = launches;
    ctx->compiled_launches = compiled;
    if (status == NB_OK) /* drop the messages of runs given up */
        memcpy(ctx->message, message, sizeof message);
    free(scratch);
    return status;
}

/* ---- schedules ---- */

/* Find a tuned entry. A damaged file is an error in strict mode only. */
static nb_status recall(nb_context *ctx, const char *key, struct tuning_entry *out,
                        int *known)
{
    const uint64_t before = ctx->fallbacks;

    *known = tuning_cache_find(ctx, key, out);
    return ctx->env.strict && ctx->fallbacks > before ? NB_ERR_UNSUPPORTED : NB_OK;
}

static void take(const nb_context *ctx, const struct tuning_entry *entry, struct plan *plan)
{
    if (entry->threads > 0 && entry->threads <= ctx->threads)
        plan->schedule.threads = entry->threads;
    if (entry->block > 0) plan->schedule.block = entry->block;
    plan->measured = 1;
}

nb_status tune_recall(nb_context *ctx, const char *kernel, struct plan *plan)
{
    struct tuning_entry entry;
    char key[PLAN_KEY];
    int known;

    if (plan->signature.operation == PLAN_DIGITIZE) return NB_OK;
    plan_key(&plan->signature, kernel, key);
    NB_TRY(recall(ctx, key, &entry, &known));
    if (known) take(ctx, &entry, plan);
    return NB_OK;
}

static nb_status measure_schedule(struct watch *watch, void *user)
{
    struct plan *plan = user;
    const struct plan estimate = *plan;

    NB_TRY(plan_measure(watch->rehearsal->ctx, dry_run, watch, plan));
    if (plan->measured && is_busy(watch)) *plan = estimate;
    return NB_OK;
}

nb_status tune_schedule(struct rehearsal *r, struct plan *plan)
{
    nb_context *ctx = r->ctx;
    struct tuning_entry entry = {0};
    char key[PLAN_KEY];

    NB_TRY(tune_recall(ctx, r->kernel, plan));
    if (plan->measured || context_compile(ctx) != NB_COMPILE_TUNE) return NB_OK;
    NB_TRY(on_scratch(r, measure_schedule, plan));
    if (!plan->measured) return NB_OK;
    plan_key(&plan->signature, r->kernel, key);
    entry.threads = plan->schedule.threads;
    entry.block = plan->schedule.block;
    entry.microseconds = (int)(1e6 * plan->seconds);
    NB_TRY(tuning_cache_save(ctx, key, &entry, 1));
    take(ctx, &entry, plan);
    return NB_OK;
}

/* ---- the strategy ---- */

/* Estimates that differ by a factor above far_apart are trusted. Otherwise a first image
 * may take up to long_image seconds. */
static const double far_apart = 8, long_image = 0.5;
enum { STRATEGY_RUNS = 3 };

struct contest {
    struct policy *policy;
    int first, second; /* strategies: the estimate's choice and its rival */
    double seconds; /* the winner's time */
    int winner; /* 0: the first takes too long to compare, or the machine is busy */
};

static nb_status time_strategy(struct watch *watch, struct policy *policy, int strategy,
                               double limit, double *best)
{
    const struct job *job = &watch->rehearsal->job;
    const struct schedule schedule = job->schedule;

    *best = INFINITY;
    policy_set_strategy(policy, strategy, "", job->frame, job->spec);
    policy->automatic = 0; /* an error for too many spots, instead of lanes */
    for (int k = 0; k < STRATEGY_RUNS; k++) {
        double once;
        const nb_status status = dry_run(watch, &schedule, limit, &once);

        if (status == NB_ERR_MEMORY) break; /* too many spots */
        NB_TRY(status);
        if (once > limit) break;
        *best = fmin(*best, once);
    }
    log_topic(watch->rehearsal->ctx, TOPIC_AUTOTUNE, "strategy %s: %.4g ms",
              strategy == NB_SPOTS ? "spots" : "lanes", 1e3 * *best);
    return NB_OK;
}

static nb_status measure_strategies(struct watch *watch, void *user)
{
    struct contest *c = user;
    double first, second;

    NB_TRY(time_strategy(watch, c->policy, c->first, long_image, &first));
    if (!isfinite(first)) return NB_OK;
    NB_TRY(time_strategy(watch, c->policy, c->second, 1.5 * first, &second));
    if (is_busy(watch)) return NB_OK;
    c->winner = second < first ? c->second : c->first;
    c->seconds = fmin(first, second);
    return NB_OK;
}

static int is_open(const nb_context *ctx, const struct policy *p)
{
    const double least = fmin(p->lanes_work, p->spots_work);
    const double most = fmax(p->lanes_work, p->spots_work);

    return context_compile(ctx) == NB_COMPILE_TUNE && p->automatic
           && most <= far_apart * least;
}

/* Write the key of an open strategy, with the tolerance and the ratio of the estimates. */
static void strategy_key(const struct rehearsal *r, const struct policy *p,
                         const struct signature *common, char key[PLAN_KEY])
{
    struct signature signature = *common;
    size_t n;

    signature.strategy = NB_STRATEGY_AUTO;
    plan_key(&signature, r->kernel, key);
    n = strlen(key);
    (void)snprintf(key + n, PLAN_KEY - n, " tolerance=%.0e spots_over_lanes=2^%.0f/2",
                   p->tolerance, round(2 * log2(p->spots_work / p->lanes_work)));
}

nb_status tune_strategy(struct rehearsal *r, struct policy *policy,
                        const struct signature *common)
{
    const struct policy chosen = *policy;
    const int spots = chosen.strategy == NB_SPOTS;
    struct contest contest = {policy, chosen.strategy, spots ? NB_LANES : NB_SPOTS, 0, 0};
    struct tuning_entry entry = {0};
    char key[PLAN_KEY];
    nb_status status;
    int known;

    if (!is_open(r->ctx, policy)) return NB_OK;
    strategy_key(r, policy, common, key);
    NB_TRY(recall(r->ctx, key, &entry, &known));
    if (!known) {
        status = on_scratch(r, measure_strategies, &contest);
        *policy = chosen;
        if (status != NB_OK) return status;
        /* Without a winner the estimate holds until the process ends. */
        entry.strategy = contest.winner;
        entry.microseconds = (int)(1e6 * contest.seconds);
        NB_TRY(tuning_cache_save(r->ctx, key, &entry, contest.winner != 0));
    }
    if (entry.strategy == NB_LANES || entry.strategy == NB_SPOTS)
        policy_set_strategy(policy, entry.strategy, "the fastest of both, measured",
                            r->job.frame, r->job.spec);
    return NB_OK;
}
