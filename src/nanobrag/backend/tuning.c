/* backend/tuning.c - see backend/tuning.h. SPDX-License-Identifier: MIT */
#include "tuning.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/context.h"
#include "base/log.h"
#include "compile/tune/tuning_cache.h"

/* ---- rehearsals ---- */

/* what stands behind the context's handlers meanwhile */
struct watch {
    struct rehearsal *rehearsal;
    nb_context_options kept;
    double told; /* how far the call at hand is, which stands still meanwhile */
    double end; /* s; past it the rehearsal is given up */
    int over, stopped; /* given up; the caller asked to stop */
    double seconds, ran; /* of all rehearsals, and how long this thread ran meanwhile */
};

static double seconds_of(clockid_t clock)
{
    struct timespec t;

    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int watch_progress(void *user, double fraction)
{
    struct watch *watch = user;
    const nb_context_options *kept = &watch->kept;

    (void)fraction;
    if (kept->progress && kept->progress(kept->user, watch->told)) watch->stopped = 1;
    watch->over |= seconds_of(CLOCK_MONOTONIC) > watch->end;
    return watch->stopped || watch->over;
}

static void watch_log(void *user, int level, const char *topic, const char *line)
{
    const struct watch *watch = user;

    if (watch->kept.log) (watch->kept.log)(watch->kept.user, level, topic, line);
}

static nb_status dry_run(void *user, const struct schedule *schedule, double limit,
                         double *seconds)
{
    struct watch *watch = user;
    struct rehearsal *r = watch->rehearsal;
    const double start = seconds_of(CLOCK_MONOTONIC);
    const double ran = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    nb_status status;

    r->job.schedule = *schedule;
    watch->end = start + limit;
    watch->over = 0;
    status = r->run(r->sim, &r->job, r->user);
    *seconds = seconds_of(CLOCK_MONOTONIC) - start;
    watch->seconds += *seconds;
    watch->ran += seconds_of(CLOCK_THREAD_CPUTIME_ID) - ran;
    if (status != NB_ERR_CANCELLED || watch->stopped) return status;
    *seconds = INFINITY;
    return NB_OK;
}

/* The calling thread works, or spins until the others are done: one that did not run was
 * not alone on the machine. */
static int is_busy(const struct watch *watch)
{
    static const double least =
        0.75; /* 0.83 to 1 where it was quiet, 0.64 beside one other */
    const int busy = watch->ran < least * watch->seconds;

    if (busy)
        log_topic(watch->rehearsal->sim->ctx, TOPIC_AUTOTUNE,
                  "the machine is busy (a thread ran %.0f %% of the time): the estimate "
                  "stays",
                  100 * watch->ran / watch->seconds);
    return busy;
}

typedef nb_status measure(struct watch *watch, void *user);

/* Measure with a job whose photons, if it makes any, are nobody's. What the context counts
 * and tells of the call at hand stays as it is. */
static nb_status on_scratch(struct rehearsal *r, int makes_photons, measure *how,
                            void *user)
{
    nb_context *ctx = r->sim->ctx;
    const struct window *w = &r->sim->window;
    const size_t n = (size_t)w->nslow * (size_t)w->nfast;
    const uint64_t launches = ctx->launches, compiled = ctx->compiled_launches;
    const int pass = ctx->pass, passes = ctx->passes;
    struct watch watch = {r, ctx->options, 0, 0, 0, 0, 0, 0};
    char message[CONTEXT_MESSAGE];
    nb_status status;

    if (makes_photons) {
        r->job.photons = calloc(n, sizeof *r->job.photons);
        if (!r->job.photons)
            return context_fall_back(ctx, "out of memory for tuning: the estimate stays");
    }
    if (passes > 1) watch.told = (double)pass / passes;
    memcpy(message, ctx->message, sizeof message);
    ctx->options.progress = watch_progress;
    ctx->options.log = watch_log;
    ctx->options.user = &watch;
    status = how(&watch, user);
    ctx->options = watch.kept;
    ctx->pass = pass;
    ctx->passes = passes;
    ctx->launches = launches;
    ctx->compiled_launches = compiled;
    if (status == NB_OK)
        memcpy(ctx->message, message, sizeof message); /* of those given up */
    if (makes_photons) free(r->job.photons);
    return status;
}

/* ---- schedules ---- */

static const char *kernel_of(const nb_simulator *sim)
{
    return sim->policy.kernels.precise->name;
}

/* what is known; a file that is no good is an error where nothing may be done without */
static nb_status recall(nb_context *ctx, const char *key, struct tuning_entry *out,
                        int *known)
{
    const uint64_t before = ctx->fallbacks;

    *known = tuning_cache_find(ctx, key, EFFORT_MEASURED, 1, out);
    return ctx->env.strict && ctx->fallbacks > before ? NB_ERR_UNSUPPORTED : NB_OK;
}

static void take(const nb_context *ctx, const struct tuning_entry *entry, struct plan *plan)
{
    if (entry->threads > 0 && entry->threads <= ctx->threads)
        plan->schedule.threads = entry->threads;
    if (entry->block > 0) plan->schedule.block = entry->block;
    plan->effort = entry->effort;
}

nb_status tuning_recall(nb_simulator *sim, struct plan *plan)
{
    struct tuning_entry entry;
    char key[PLAN_KEY];
    int known;

    if (plan->signature.operation == PLAN_DIGITIZE) return NB_OK;
    plan_key(&plan->signature, kernel_of(sim), key);
    NB_TRY(recall(sim->ctx, key, &entry, &known));
    if (known) take(sim->ctx, &entry, plan);
    return NB_OK;
}

static nb_status measure_schedule(struct watch *watch, void *user)
{
    struct plan *plan = user;
    const struct plan estimate = *plan;

    NB_TRY(plan_measure(watch->rehearsal->sim->ctx, dry_run, watch, plan));
    if (plan->effort > EFFORT_ESTIMATED && is_busy(watch)) *plan = estimate;
    return NB_OK;
}

nb_status tuning_schedule(struct rehearsal *r, struct plan *plan)
{
    nb_context *ctx = r->sim->ctx;
    const enum operation operation = (enum operation)plan->signature.operation;
    struct tuning_entry entry = {0};
    char key[PLAN_KEY];

    /* nor of threads and blocks of tiles */
    if (r->sim->device.scene.gpu && (operation == PLAN_FORWARD || !r->user)) return NB_OK;
    NB_TRY(tuning_recall(r->sim, plan));
    if (operation == PLAN_DIGITIZE || plan->effort > EFFORT_ESTIMATED
        || context_compile(ctx) != NB_COMPILE_TUNE)
        return NB_OK;
    NB_TRY(on_scratch(r, operation == PLAN_FORWARD, measure_schedule, plan));
    if (plan->effort == EFFORT_ESTIMATED) return NB_OK;
    plan_key(&plan->signature, kernel_of(r->sim), key);
    entry.effort = plan->effort;
    entry.threads = plan->schedule.threads;
    entry.block = plan->schedule.block;
    entry.microseconds = (int)(1e6 * plan->seconds);
    NB_TRY(tuning_cache_save(ctx, key, &entry, 1));
    take(ctx, &entry, plan);
    return NB_OK;
}

/* ---- the strategy ---- */

/* estimates further apart than this are believed; and what may be spent on either, s */
static const double far_apart = 8, long_image = 0.5;
enum { STRATEGY_RUNS = 3 };

struct contest {
    const struct phys_frame *frame;
    int first, second; /* strategies, the one chosen by estimate and its rival */
    double seconds; /* of the winner */
    int winner; /* 0: it takes too long to tell, or the machine is busy */
};

static nb_status time_strategy(struct watch *watch, const struct phys_frame *frame,
                               int strategy, double limit, double *best)
{
    nb_simulator *sim = watch->rehearsal->sim;
    const struct schedule schedule = watch->rehearsal->job.schedule;

    *best = INFINITY;
    policy_set_strategy(&sim->policy, strategy, "", frame, sim->spec);
    sim->policy.automatic = 0; /* spots that are too many may not become lanes here */
    for (int k = 0; k < STRATEGY_RUNS; k++) {
        double once;
        const nb_status status = dry_run(watch, &schedule, limit, &once);

        if (status == NB_ERR_MEMORY) break; /* too many spots */
        NB_TRY(status);
        if (once > limit) break;
        *best = fmin(*best, once);
    }
    log_topic(sim->ctx, TOPIC_AUTOTUNE, "strategy %s: %.4g ms",
              strategy == NB_SPOTS ? "spots" : "lanes", 1e3 * *best);
    return NB_OK;
}

static nb_status measure_strategies(struct watch *watch, void *user)
{
    struct contest *c = user;
    double first, second;

    NB_TRY(time_strategy(watch, c->frame, c->first, long_image, &first));
    if (!isfinite(first)) return NB_OK;
    NB_TRY(time_strategy(watch, c->frame, c->second, 1.5 * first, &second));
    if (is_busy(watch)) return NB_OK;
    c->winner = second < first ? c->second : c->first;
    c->seconds = fmin(first, second);
    return NB_OK;
}

static int is_open(const nb_simulator *sim)
{
    const struct policy *p = &sim->policy;
    const double least = fmin(p->lanes_work, p->spots_work);
    const double most = fmax(p->lanes_work, p->spots_work);

    /* images on a device know of no strategy */
    return context_compile(sim->ctx) == NB_COMPILE_TUNE && p->automatic
           && !sim->device.scene.gpu && most <= far_apart * least;
}

/* of an open strategy; with what decides between the two besides */
static void strategy_key(const nb_simulator *sim, char key[PLAN_KEY])
{
    const struct policy *p = &sim->policy;
    struct signature signature = sim->plans.common;
    size_t n;

    signature.strategy = NB_STRATEGY_AUTO;
    plan_key(&signature, kernel_of(sim), key);
    n = strlen(key);
    (void)snprintf(key + n, PLAN_KEY - n, " tolerance=%.0e spots_over_lanes=2^%.0f/2",
                   p->tolerance, round(2 * log2(p->spots_work / p->lanes_work)));
}

nb_status tuning_strategy(nb_simulator *sim, const nb_scene *scene,
                          const struct phys_frame *frame)
{
    struct rehearsal r = {sim, simulator_job(sim, scene, frame, NULL), launch_image, NULL};
    const struct policy chosen = sim->policy;
    const int spots = chosen.strategy == NB_SPOTS;
    struct contest contest = {frame, chosen.strategy, spots ? NB_LANES : NB_SPOTS, 0, 0};
    struct tuning_entry entry = {0};
    char key[PLAN_KEY];
    nb_status status;
    int known;

    if (!is_open(sim)) return NB_OK;
    strategy_key(sim, key);
    NB_TRY(recall(sim->ctx, key, &entry, &known));
    if (!known) {
        status = on_scratch(&r, 1, measure_strategies, &contest);
        sim->policy = chosen;
        if (status != NB_OK) return status;
        /* without a winner the estimate rules from now on, in this process */
        entry.effort = EFFORT_MEASURED;
        entry.strategy = contest.winner;
        entry.microseconds = (int)(1e6 * contest.seconds);
        NB_TRY(tuning_cache_save(sim->ctx, key, &entry, contest.winner != 0));
    }
    if (entry.strategy == NB_LANES || entry.strategy == NB_SPOTS)
        policy_set_strategy(&sim->policy, entry.strategy, "the fastest of both, measured",
                            frame, sim->spec);
    if (sim->policy.strategy != NB_SPOTS) spots_free(&sim->spots);
    return NB_OK;
}

/* ---- the point spread ---- */

nb_status tuning_psf(nb_simulator *sim, const nb_psf *psf, int nslow, int nfast)
{
    nb_context *ctx = sim->ctx;
    struct psf_tuning tuning = {NULL, ctx->env.compile_timeout, NULL, 0, 0};
    const uint64_t before = ctx->fallbacks;
    nb_status status;
    char *known;

    if (context_compile(ctx) != NB_COMPILE_TUNE || sim->policy.strategy == NB_REFERENCE)
        return psf_create(ctx, psf, nslow, nfast, NULL, &sim->psf);
    known = tuning_cache_fftw(ctx);
    if (ctx->env.strict && ctx->fallbacks > before) {
        free(known);
        return NB_ERR_UNSUPPORTED;
    }
    tuning.known = known;
    status = psf_create(ctx, psf, nslow, nfast, &tuning, &sim->psf);
    sim->policy.measured_transforms = tuning.measured;
    log_topic(ctx, TOPIC_AUTOTUNE, "transforms of a point spread: %s",
              tuning.measured ? "measured" : "by estimate");
    if (status == NB_OK && tuning.cut_short)
        status = context_fall_back(ctx,
                                   "FFTW had no time to measure (%g s, "
                                   "NANOBRAG_COMPILE_TIMEOUT): estimated transforms",
                                   ctx->env.compile_timeout);
    if (status == NB_OK && tuning.found && (!known || strcmp(known, tuning.found) != 0))
        status = tuning_cache_save_fftw(ctx, tuning.found);
    free(tuning.found);
    free(known);
    return status;
}
