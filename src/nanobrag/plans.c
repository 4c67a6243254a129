/*
 * plans.c - a simulator's calls in compiled mode: the signature of a call, its plan from
 * the context's cache or else made and kept there, and what that came to.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/context.h"
#include "base/log.h"
#include "compile/explain.h"
#include "compile/wisdom.h"
#include "grad/grad.h"
#include "kernels/headway.h"
#include "simulator.h"

/* ---- signatures ---- */

/* what the numbers of a scene can not turn on */
static uint32_t switches_of(const nb_simulator *sim)
{
    const nb_scene *s = &sim->scene;
    const int flags[] = {s->oversample_thick,      s->oversample_polar,
                         s->oversample_omega,      s->detector.curved,
                         s->detector.point_pixel,  s->beam.unpolarised,
                         sim->window.mask != NULL, sim->psf != NULL};
    uint32_t switches = (uint32_t)s->quirks << 8;

    for (uint32_t i = 0; i < sizeof flags / sizeof *flags; i++)
        switches |= (uint32_t)(flags[i] != 0) << i;
    return switches;
}

/* the kernel for a crystal of one orientation needs it to have the weight 1 */
static int is_lone(const nb_simulator *sim)
{
    const nb_crystal *c = &sim->scene.crystal;

    return sim->scene.scan.nphi == 1 && c->ndomains == 1 && !c->domain_weight
           && sim->policy.kernels.precise->lone[sim->spec.shape][sim->spec.lookup];
}

void plans_start(nb_simulator *sim)
{
    struct signature *s = &sim->plans.common;
    const nb_scene *scene = &sim->scene;
    const int *roi = sim->window.roi;
    const char *kernel = sim->policy.kernels.precise->name;
    const int over = scene->oversample;

    memset(&sim->plans, 0, sizeof sim->plans);
    s->shape = (uint32_t)sim->spec.shape;
    s->lookup = (uint32_t)sim->spec.lookup;
    s->strategy = (uint32_t)sim->policy.strategy;
    s->precision = sim->policy.kernels.single ? NB_SINGLE : NB_DOUBLE;
    s->kernel = (uint32_t)plan_hash(kernel, strlen(kernel));
    s->switches = switches_of(sim);
    s->threads = (uint32_t)sim->ctx->threads;
    s->pixels = plan_class((double)(roi[1] - roi[0]) * (roi[3] - roi[2]));
    s->samples = plan_class((double)over * over * scene->detector.nlayers);
    s->sources = plan_class(sim->fixed.nsource);
    s->orientations = plan_class((double)scene->scan.nphi * scene->crystal.ndomains);
    s->box = plan_class(scene->crystal.hkl ? (double)hkl_box_size(&sim->hkl) : 0);
}

static struct signature signature_of(const nb_simulator *sim, enum operation operation,
                                     int directions)
{
    const struct params *params = &sim->params;
    struct signature s = sim->plans.common;

    s.operation = operation;
    s.directions = plan_class(directions);
    if (operation == PLAN_FORWARD && sim->policy.strategy == NB_LANES)
        s.lone = (uint32_t)is_lone(sim);
    for (size_t i = 0; operation != PLAN_FORWARD && i < params->n; i++) {
        const uint32_t row = (uint32_t)params->at[i].row;

        s.free[row / 32] |= (uint32_t)1 << row % 32;
    }
    return s;
}

/* ---- making a plan ---- */

static double seconds_now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct rehearsal {
    nb_simulator *sim;
    struct job job;
    simulator_run *run;
    const void *user;
};

static nb_status rehearse(void *user, const struct schedule *schedule, double *seconds)
{
    struct rehearsal *r = user;
    const double start = seconds_now();

    r->job.schedule = *schedule;
    NB_TRY(r->run(r->sim, &r->job, r->user));
    *seconds = seconds_now() - start;
    return NB_OK;
}

/* run `measure` on a job whose photons are nobody's; what the context counts and tells of
 * the call at hand stays as it is */
static nb_status on_scratch(struct rehearsal *r,
                            nb_status (*measure)(struct rehearsal *r, void *user),
                            void *user)
{
    nb_context *ctx = r->sim->ctx;
    const nb_context kept = *ctx;
    const struct window *w = &r->sim->window;
    double *scratch = calloc((size_t)w->nslow * (size_t)w->nfast, sizeof *scratch);
    nb_status status;

    if (!scratch) return fail_memory(ctx, "tuning");
    r->job.photons = scratch;
    ctx->options.progress = NULL;
    status = measure(r, user);
    free(scratch);
    ctx->options.progress = kept.options.progress;
    ctx->pass = kept.pass;
    ctx->passes = kept.passes;
    ctx->launches = kept.launches;
    ctx->compiled_launches = kept.compiled_launches;
    return status;
}

static nb_status measure_schedule(struct rehearsal *r, void *user)
{
    return plan_measure(r->sim->ctx, rehearse, r, user);
}

/* the schedule that was found before, here or in another process; else the fastest */
static nb_status tune(struct rehearsal *r, struct plan *plan)
{
    nb_context *ctx = r->sim->ctx;
    const int tunes = context_compile(ctx) == NB_COMPILE_TUNE && r->run;
    struct finding finding;
    char key[PLAN_KEY];

    plan_key(&plan->signature, r->sim->policy.kernels.precise->name, key);
    if (plan->signature.operation == PLAN_DIGITIZE) return NB_OK;
    if (!wisdom_recall(ctx, key, RIGOUR_MEASURED, 1, &finding)) {
        if (!tunes) return NB_OK;
        NB_TRY(on_scratch(r, measure_schedule, plan));
        finding = (struct finding){.rigour = plan->rigour,
                                   .threads = plan->schedule.threads,
                                   .block = plan->schedule.block};
        NB_TRY(wisdom_keep(ctx, key, &finding));
    }
    if (finding.threads > 0 && finding.threads <= ctx->threads)
        plan->schedule.threads = finding.threads;
    if (finding.block > 0) plan->schedule.block = finding.block;
    plan->rigour = finding.rigour;
    return NB_OK;
}

/* a plan that the cache lacks */
static nb_status make_plan(struct rehearsal *r, const struct signature *signature,
                           const struct plan **out)
{
    nb_simulator *sim = r->sim;
    nb_context *ctx = sim->ctx;
    const char *name = plan_operation_name((enum operation)signature->operation);
    const struct plan *before = cache_last(ctx, (enum operation)signature->operation);
    char reason[PLAN_NAME] = "first of its kind";
    struct plan plan;

    if (before) plan_difference(&before->signature, signature, reason);
    plan_estimate(signature, &plan);
    NB_TRY(tune(r, &plan));
    sim->plans.stats.compiles++;
    sim->plans.stats.recompiles += before != NULL;
    log_topic(ctx, TOPIC_RECOMPILES, "plan %016llx %s: %s", (unsigned long long)plan.hash,
              name, reason);
    return cache_add(ctx, &plan, out);
}

static nb_status find_plan(struct rehearsal *r, const struct signature *signature,
                           struct plan *out)
{
    nb_simulator *sim = r->sim;
    const struct plan *plan = cache_find(sim->ctx, signature);

    log_topic(sim->ctx, TOPIC_CACHE, "%s: %s",
              plan_operation_name((enum operation)signature->operation),
              plan ? "plan found" : "no plan yet");
    if (plan) sim->plans.stats.hits++;
    if (!plan) {
        sim->plans.stats.misses++;
        NB_TRY(make_plan(r, signature, &plan));
    }
    *out = *plan;
    sim->plans.last[signature->operation] = *plan;
    return NB_OK;
}

/* ---- calls ---- */

/* nanoBragg's kernel one pixel after the other is for comparison, and has no other form */
static int is_compiled(const nb_simulator *sim)
{
    return context_compile(sim->ctx) != NB_COMPILE_OFF
           && sim->policy.strategy != NB_REFERENCE;
}

nb_status plans_run(nb_simulator *sim, enum operation operation, int directions,
                    const struct job *job, simulator_run *run, const void *user,
                    const void *rehearsed)
{
    struct rehearsal rehearsal = {sim, *job, run, rehearsed};
    const uint64_t before = sim->ctx->compiled_launches;
    struct signature signature;
    struct job planned = *job;
    struct plan plan;
    nb_status status;

    if (!is_compiled(sim)) return run(sim, job, user);
    signature = signature_of(sim, operation, directions);
    NB_TRY(find_plan(&rehearsal, &signature, &plan));
    planned.spec = plan.spec;
    planned.schedule = plan.schedule;
    planned.planned = 1;
    status = run(sim, &planned, user);
    sim->plans.stats.compiled_launches += sim->ctx->compiled_launches - before;
    return status;
}

nb_status plans_digitize(nb_simulator *sim, int donated)
{
    struct rehearsal rehearsal = {0};
    struct signature signature;
    struct plan plan;

    if (!is_compiled(sim)) return NB_OK;
    rehearsal.sim = sim;
    signature = signature_of(sim, PLAN_DIGITIZE, 0);
    signature.donated = donated != 0;
    return find_plan(&rehearsal, &signature, &plan);
}

/* ---- the strategy, when compiled mode tunes and it was left open ---- */

/* estimates further apart than this are believed, and more than this, ns, is not run */
static const double far_apart = 8, too_long = 2e9;
enum { STRATEGY_RUNS = 3 };

struct contest {
    const struct phys_frame *frame;
    double seconds[2]; /* lanes, spots */
};

static const int rivals[] = {NB_LANES, NB_SPOTS};

static nb_status measure_strategies(struct rehearsal *r, void *user)
{
    nb_simulator *sim = r->sim;
    struct contest *contest = user;

    for (int i = 0; i < 2; i++) {
        double *best = contest->seconds + i;

        *best = INFINITY;
        policy_take(&sim->policy, rivals[i], "", contest->frame, sim->spec);
        for (int k = 0; k < STRATEGY_RUNS; k++) {
            double once;
            const nb_status status = rehearse(r, &r->job.schedule, &once);

            if (status == NB_ERR_MEMORY) break; /* too many spots */
            NB_TRY(status);
            *best = fmin(*best, once);
        }
        log_topic(sim->ctx, TOPIC_AUTOTUNE, "strategy %s: %.4g ms", i ? "spots" : "lanes",
                  1e3 * *best);
    }
    return NB_OK;
}

static int is_open(const nb_simulator *sim)
{
    const struct policy *p = &sim->policy;
    const double least = fmin(p->lanes_work, p->spots_work);
    const double most = fmax(p->lanes_work, p->spots_work);

    return context_compile(sim->ctx) == NB_COMPILE_TUNE && p->automatic
           && most <= far_apart * least && most <= too_long * sim->ctx->threads;
}

nb_status plans_strategy(nb_simulator *sim, const nb_scene *scene,
                         const struct phys_frame *frame, simulator_run *run)
{
    struct rehearsal r = {sim, simulator_job(sim, scene, frame, NULL), run, NULL};
    struct contest contest = {frame, {0}};
    struct signature signature = sim->plans.common;
    struct policy *policy = &sim->policy;
    const struct policy chosen = *policy;
    struct finding finding = {0};
    char key[PLAN_KEY];
    nb_status status;

    if (!is_open(sim)) return NB_OK;
    signature.strategy = NB_STRATEGY_AUTO;
    plan_key(&signature, policy->kernels.precise->name, key);
    if (!wisdom_recall(sim->ctx, key, RIGOUR_MEASURED, 1, &finding)) {
        status = on_scratch(&r, measure_strategies, &contest);
        *policy = chosen;
        NB_TRY(status);
        finding.rigour = RIGOUR_MEASURED;
        finding.strategy = rivals[contest.seconds[1] < contest.seconds[0]];
        NB_TRY(wisdom_keep(sim->ctx, key, &finding));
    }
    if (finding.strategy == NB_LANES || finding.strategy == NB_SPOTS)
        policy_take(policy, finding.strategy, "the fastest of both, measured", frame,
                    sim->spec);
    sim->plans.common.strategy = (uint32_t)policy->strategy;
    sim->plans.common.precision = policy->kernels.single ? NB_SINGLE : NB_DOUBLE;
    return NB_OK;
}

/* ---- the point spread ---- */

nb_status plans_psf(nb_simulator *sim, const nb_psf *psf, int nslow, int nfast)
{
    static const char name[] = "fftw";
    nb_context *ctx = sim->ctx;
    struct psf_tuning tuning = {NULL, ctx->env.compile_timeout, NULL};
    nb_status status;
    char *known;

    if (context_compile(ctx) != NB_COMPILE_TUNE)
        return psf_create(ctx, psf, nslow, nfast, NULL, &sim->psf);
    known = wisdom_text(ctx, name);
    tuning.known = known;
    status = psf_create(ctx, psf, nslow, nfast, &tuning, &sim->psf);
    if (status == NB_OK && tuning.found && (!known || strcmp(known, tuning.found) != 0))
        status = wisdom_keep_text(ctx, name, tuning.found);
    free(tuning.found);
    free(known);
    return status;
}

/* ---- what it came to ---- */

void nb_simulator_stats(const nb_simulator *sim, nb_compile_stats *out)
{
    memset(out, 0, sizeof *out);
    if (!sim) return;
    *out = sim->plans.stats;
    out->fallbacks = sim->ctx->fallbacks;
    for (int i = 0; i < PLAN_OPERATIONS; i++) out->plan_hash ^= sim->plans.last[i].hash;
    out->bytes = sizeof *sim + sim->arena.size + sim->tangents_memory.size
                 + sim->normal_memory.size + sim->photons_memory.size
                 + spots_bytes(&sim->spots) + psf_bytes(sim->psf);
}

const char *nb_simulator_explain(nb_simulator *sim)
{
    struct plan plans[PLAN_OPERATIONS];
    nb_compile_stats stats;

    if (!sim) return "";
    nb_simulator_stats(sim, &stats);
    memcpy(plans, sim->plans.last, sizeof plans);
    if (is_compiled(sim) && plans[PLAN_FORWARD].hash == 0) { /* what an image would take */
        const struct signature signature = signature_of(sim, PLAN_FORWARD, 0);

        plan_estimate(&signature, plans + PLAN_FORWARD);
    }
    explain_compiled(sim->ctx, &sim->policy, plans, &stats, sim->plans.text,
                     sizeof sim->plans.text);
    return sim->plans.text;
}
