/*
 * call.c - makes signatures and finds or makes plans.
 *
 * SPDX-License-Identifier: MIT
 */
#include "compile/call.h"

#include "base/context.h"
#include "base/log.h"

int call_is_compiled(const struct plans *plans)
{
    return context_compile(plans->ctx) != NB_COMPILE_OFF
           && plans->policy->strategy != NB_STRATEGY_REFERENCE;
}

static struct signature signature_of(const struct plans *plans, const struct call *call)
{
    struct signature s = plans->common;

    s.operation = call->operation;
    s.directions = plan_class(call->directions);
    s.donated = call->donated != 0;
    if (call->operation == PLAN_FORWARD)
        s.single_orientation = (uint32_t)plans->single_orientation;
    if (call->operation == PLAN_ADJOINT || call->operation == PLAN_JACOBIAN)
        for (size_t i = 0; i < sizeof s.free / sizeof *s.free; i++)
            s.free[i] = plans->free[i];
    return s;
}

/* Set the hash of a plan. The hash covers signature and schedule, because plans of one
 * signature can have different schedules. */
static void seal(struct plan *plan)
{
    struct {
        struct signature signature;
        int32_t threads, block;
    } all = {plan->signature, plan->schedule.threads, plan->schedule.block};

    plan->hash = plan_hash(&all, sizeof all);
}

/* Make a plan for a signature that the cache lacks, and save it there. */
static nb_status make_plan(struct plans *plans, const struct signature *signature,
                           const struct plan **out)
{
    nb_context *ctx = plans->ctx;
    const char *name = plan_operation_name((enum operation)signature->operation);
    const struct plan *before = cache_last(ctx, (enum operation)signature->operation);
    char reason[PLAN_NAME] = "first of its kind";
    struct plan plan;

    if (before) plan_difference(&before->signature, signature, reason);
    plan_estimate(signature, &plan);
    seal(&plan);
    plans->stats.compiles++;
    plans->stats.recompiles += before != NULL;
    log_topic(ctx, TOPIC_RECOMPILES, "plan %016llx %s: %s", (unsigned long long)plan.hash,
              name, reason);
    return cache_add(ctx, &plan, out);
}

nb_status call_plan(struct plans *plans, const struct call *call, struct job *job)
{
    nb_context *ctx = plans->ctx;
    struct signature signature;
    const struct plan *plan;

    if (!call_is_compiled(plans)) return NB_OK;
    signature = signature_of(plans, call);
    plan = cache_find(ctx, &signature);
    log_topic(ctx, TOPIC_CACHE, "%s: %s", plan_operation_name(call->operation),
              plan ? "plan found" : "no plan yet");
    if (plan) plans->stats.hits++;
    if (!plan) {
        plans->stats.misses++;
        NB_TRY(make_plan(plans, &signature, &plan));
    }
    plans->last[call->operation] = *plan;
    job->spec = plan->spec;
    job->schedule = plan->schedule;
    job->planned = 1;
    return NB_OK;
}

void call_preview(const struct plans *plans, struct plan *out)
{
    const struct call call = {.operation = PLAN_FORWARD};
    const struct signature signature = signature_of(plans, &call);
    const struct plan *made = cache_find(plans->ctx, &signature);

    plan_estimate(&signature, out);
    if (made) *out = *made;
    seal(out);
}
