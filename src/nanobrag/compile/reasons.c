/* explain.c - see reasons.h. SPDX-License-Identifier: MIT */
#include "compile/reasons.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "compile/tune/tuning_cache.h"

struct text {
    char *at;
    size_t size, used;
};

/* behind what there is, as far as it fits */
__attribute__((format(printf, 2, 3))) static void messages(struct text *text,
                                                           const char *format, ...)
{
    const size_t room = text->size - text->used;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(text->at + text->used, room, format, args);
    va_end(args);
    if (n > 0) text->used += (size_t)n < room ? (size_t)n : room - 1;
}

static void explain_plan(struct text *text, const struct plan *plan)
{
    const struct schedule *s = &plan->schedule;

    messages(text, "plan %016llx %s: ", (unsigned long long)plan->hash,
             plan_operation_name((enum operation)plan->signature.operation));
    if (plan->signature.operation == PLAN_DIGITIZE) {
        messages(text, "counts in %s memory\n",
                 plan->signature.donated ? "the image's" : "their own");
        return;
    }
    messages(text, "%s, %d of %u threads, %d tile%s at a time, %s%s\n",
             plan->signature.strategy == NB_SPOTS ? "spots"
             : plan->spec.single_orientation      ? "one-orientation kernel"
                                                  : "general kernel",
             s->threads, plan->signature.threads, s->block, s->block > 1 ? "s" : "",
             plan->effort > EFFORT_ESTIMATED ? "measured" : "by estimate",
             plan->used > 0 ? "" : ", not yet made");
}

/* NULL: it is on */
static const char *why_off(const nb_context *ctx, const struct policy *policy)
{
    if (ctx->env.disabled_by) return ctx->env.disabled_by;
    if (context_compile(ctx) == NB_COMPILE_OFF) return "asked for";
    if (policy->strategy == NB_REFERENCE)
        return "the strategy reference always runs uncompiled";
    return NULL;
}

void explain_compiled(const nb_context *ctx, const struct policy *policy,
                      const char *device, const struct plan last[PLAN_OPERATIONS],
                      const nb_compile_stats *stats, char *out, size_t n)
{
    const char *off = why_off(ctx, policy);
    const int tunes = context_compile(ctx) == NB_COMPILE_TUNE;
    struct text text;

    text.at = out;
    text.size = n;
    text.used = 0;
    if (off)
        messages(&text, "compiled mode off: %s%s\n", off, ctx->env.disabled_by ? "=1" : "");
    else
        messages(&text, "compiled mode on%s\n", tunes ? ", tuning" : "");
    messages(&text, "images on %s; on the cpu kernel %s\n", device,
             policy->kernels.precise->name);
    if (policy->measured_transforms)
        messages(&text,
                 "point spread: transforms measured, whose last bits are their own\n");
    for (int i = 0; !off && i < PLAN_OPERATIONS; i++)
        if (last[i].hash != 0) explain_plan(&text, last + i);
    messages(&text,
             "plans made %llu, found %llu times; launches by a plan %llu; fallbacks %llu\n",
             (unsigned long long)stats->compiles, (unsigned long long)stats->hits,
             (unsigned long long)stats->compiled_launches,
             (unsigned long long)stats->fallbacks);
    if (stats->fallbacks > 0) messages(&text, "fallback: %s\n", ctx->fallback);
    messages(&text, "memory %llu bytes\n", (unsigned long long)stats->bytes);
}
