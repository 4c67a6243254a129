/*
 * backend/plans.c - a simulator's calls in compiled mode: the signature of a call, its plan
 * from the context's cache or else made and kept there, and what that came to.
 *
 * SPDX-License-Identifier: MIT
 */
#include <assert.h>
#include <string.h>

#include "base/context.h"
#include "base/log.h"
#include "compile/reasons.h"
#include "grad/grad.h"
#include "simulator.h"
#include "tuning.h"

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
static int has_one_orientation(const nb_simulator *sim)
{
    const nb_crystal *c = &sim->scene.crystal;

    return sim->scene.scan.nphi == 1 && c->ndomains == 1 && !c->domain_weight
           && sim->policy.kernels.precise
                  ->single_orientation[sim->spec.shape][sim->spec.lookup];
}

/* what a plan depends on of the device of images: 0 for the host, else its architecture */
static uint32_t device_class(const nb_simulator *sim)
{
    const struct gpu *gpu = sim->device.scene.gpu;

    return gpu ? (uint32_t)(10 * gpu->properties.major + gpu->properties.minor) : 0;
}

void plans_start(nb_simulator *sim)
{
    struct signature *s = &sim->plans.common;
    const nb_scene *scene = &sim->scene;
    const int *roi = sim->window.roi;
    const char *kernel = sim->policy.kernels.precise->name;
    const int over = scene->oversample;

    memset(s, 0, sizeof *s);
    s->shape = (uint32_t)sim->spec.shape;
    s->lookup = (uint32_t)sim->spec.lookup;
    s->strategy = (uint32_t)sim->policy.strategy;
    s->precision = sim->policy.kernels.single ? NB_SINGLE : NB_DOUBLE;
    s->device = device_class(sim);
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
    const int pulls = operation == PLAN_ADJOINT || operation == PLAN_JACOBIAN;
    struct signature s = sim->plans.common;

    s.operation = operation;
    s.directions = plan_class(directions);
    if (operation == PLAN_FORWARD && sim->policy.strategy == NB_LANES)
        s.single_orientation = (uint32_t)has_one_orientation(sim);
    for (size_t i = 0; pulls && i < params->n; i++) {
        const uint32_t row = (uint32_t)params->at[i].row;

        assert(row / 32 < sizeof s.free / sizeof *s.free);
        s.free[row / 32] |= (uint32_t)1 << row % 32;
    }
    return s;
}

/* ---- making a plan ---- */

/* the hash tells plans of other schedules apart too */
static void seal(struct plan *plan)
{
    struct {
        struct signature signature;
        int32_t threads, block;
    } all = {plan->signature, plan->schedule.threads, plan->schedule.block};

    plan->hash = plan_hash(&all, sizeof all);
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
    NB_TRY(tuning_schedule(r, &plan));
    seal(&plan);
    sim->plans.stats.compiles++;
    sim->plans.stats.recompiles += before != NULL;
    log_topic(ctx, TOPIC_RECOMPILES, "plan %016llx %s: %s", (unsigned long long)plan.hash,
              name, reason);
    return cache_add(ctx, &plan, out);
}

/* the plan, found or made, to sim->plans.last */
static nb_status find_plan(struct rehearsal *r, const struct signature *signature)
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
                    const void *dry_run)
{
    struct rehearsal rehearsal = {sim, *job, run, dry_run};
    const uint64_t before = sim->ctx->compiled_launches;
    struct signature signature;
    const struct plan *plan = sim->plans.last + operation;
    struct job planned = *job;
    nb_status status;

    NB_TRY(device_check_lost(sim));
    if (!is_compiled(sim)) return run(sim, job, user);
    signature = signature_of(sim, operation, directions);
    NB_TRY(find_plan(&rehearsal, &signature));
    planned.spec = plan->spec;
    planned.schedule = plan->schedule;
    planned.planned = 1;
    status = run(sim, &planned, user);
    sim->plans.stats.compiled_launches += sim->ctx->compiled_launches - before;
    return status;
}

nb_status plans_digitize(nb_simulator *sim, int donated)
{
    struct rehearsal rehearsal = {0};
    struct signature signature;

    NB_TRY(device_check_lost(sim));
    if (!is_compiled(sim)) return NB_OK;
    rehearsal.sim = sim;
    signature = signature_of(sim, PLAN_DIGITIZE, 0);
    signature.donated = donated != 0;
    return find_plan(&rehearsal, &signature);
}

/* ---- what it came to ---- */

void nb_simulator_stats(const nb_simulator *sim, nb_compile_stats *out)
{
    if (!out) return;
    memset(out, 0, sizeof *out);
    if (!sim) return;
    *out = sim->plans.stats;
    out->captures = sim->device.scene.graphs.captures;
    out->replays = sim->device.scene.graphs.replays;
    out->skips = sim->device.scene.graphs.skips;
    out->builds = sim->device.scene.hot.builds;
    out->promotions = sim->device.scene.hot.promotions;
    out->cubin_hits = sim->device.scene.hot.hits;
    out->cubin_misses = sim->device.scene.hot.misses;
    out->fallbacks = sim->ctx->fallbacks - sim->plans.fallbacks_before;
    for (int i = 0; i < PLAN_OPERATIONS; i++) out->plan_hash ^= sim->plans.last[i].hash;
    out->bytes = sizeof *sim + sim->arena.size + sim->tangents_memory.size
                 + sim->normal_memory.size + sim->photons_memory.size
                 + sim->device.memory.size + gpu_scene_bytes(&sim->device.scene)
                 + spots_bytes(&sim->spots) + psf_bytes(sim->psf);
}

const char *nb_simulator_explain(nb_simulator *sim)
{
    struct plan plans[PLAN_OPERATIONS];
    nb_compile_stats stats;

    if (!sim) return "";
    memcpy(plans, sim->plans.last, sizeof plans);
    if (is_compiled(sim) && plans[PLAN_FORWARD].hash == 0) { /* what an image would take */
        const struct signature signature = signature_of(sim, PLAN_FORWARD, 0);
        const struct plan *made = cache_find(sim->ctx, &signature);

        plan_estimate(&signature, plans + PLAN_FORWARD);
        if (made)
            plans[PLAN_FORWARD] = *made;
        else
            (void)tuning_recall(sim, plans + PLAN_FORWARD);
        seal(plans + PLAN_FORWARD);
    }
    nb_simulator_stats(sim, &stats);
    explain_compiled(sim->ctx, &sim->policy, sim->device.name, plans, &stats,
                     sim->plans.text, sizeof sim->plans.text);
    return sim->plans.text;
}
