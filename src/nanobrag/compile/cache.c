/*
 * cache.c - the plans of a context, in a short array that is searched by signature. When it
 * is full, a new plan replaces the least recently used one.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "compile/plan.h"

struct plan_cache {
    uint64_t uses;
    int n;
    struct plan plan[PLAN_CACHE];
};

const struct plan *cache_find(nb_context *ctx, const struct signature *signature)
{
    struct plan_cache *cache = ctx->plans;

    for (int i = 0; cache && i < cache->n; i++) {
        struct plan *plan = cache->plan + i;

        if (memcmp(&plan->signature, signature, sizeof *signature) != 0) continue;
        plan->used = ++cache->uses;
        return plan;
    }
    return NULL;
}

static struct plan *place_for(struct plan_cache *cache)
{
    struct plan *oldest = cache->plan;

    if (cache->n < PLAN_CACHE) return cache->plan + cache->n++;
    for (int i = 1; i < PLAN_CACHE; i++)
        if (cache->plan[i].used < oldest->used) oldest = cache->plan + i;
    return oldest;
}

nb_status cache_add(nb_context *ctx, const struct plan *plan, const struct plan **out)
{
    struct plan *place;

    if (!ctx->plans) ctx->plans = calloc(1, sizeof *ctx->plans);
    if (!ctx->plans) return fail_memory(ctx, "plans");
    place = place_for(ctx->plans);
    if (place->used > 0)
        log_topic(ctx, TOPIC_CACHE, "plan %016llx was replaced",
                  (unsigned long long)place->hash);
    *place = *plan;
    place->used = ++ctx->plans->uses;
    *out = place;
    return NB_OK;
}

const struct plan *cache_last(const nb_context *ctx, enum operation operation)
{
    const struct plan *last = NULL;

    for (int i = 0; ctx->plans && i < ctx->plans->n; i++) {
        const struct plan *plan = ctx->plans->plan + i;

        if (plan->signature.operation == (uint32_t)operation
            && (!last || plan->used > last->used))
            last = plan;
    }
    return last;
}
