/*
 * reasons.c - writes the text of nb_simulator_explain().
 *
 * SPDX-License-Identifier: MIT
 */
#include "compile/reasons.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct text {
    char *at;
    size_t size, used;
};

/* Append formatted text, as far as it fits. */
__attribute__((format(printf, 2, 3))) static void append(struct text *text,
                                                         const char *format, ...)
{
    const size_t space = text->size - text->used;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(text->at + text->used, space, format, args);
    va_end(args);
    if (n > 0) text->used += (size_t)n < space ? (size_t)n : space - 1;
}

static void explain_plan(struct text *text, const struct plan *plan)
{
    const struct schedule *s = &plan->schedule;

    append(text, "plan %016llx %s: ", (unsigned long long)plan->hash,
           plan_operation_name((enum operation)plan->signature.operation));
    if (plan->signature.operation == PLAN_DIGITIZE) {
        append(text, "counts in %s memory\n",
               plan->signature.donated ? "the image's" : "their own");
        return;
    }
    append(text, "%s, %d of %u threads, %d tile%s at a time%s\n",
           plan->signature.strategy == NB_STRATEGY_SPOTS ? "spots"
           : plan->spec.single_orientation               ? "one-orientation kernel"
                                                         : "general kernel",
           s->threads, plan->signature.threads, s->block, s->block > 1 ? "s" : "",
           plan->used > 0 ? "" : ", not yet made");
}

/* Returns why compiled mode is off, or NULL if it is on. */
static const char *why_off(const nb_context *ctx, const struct policy *policy)
{
    if (ctx->env.disabled_by) return ctx->env.disabled_by;
    if (context_compile(ctx) == NB_COMPILE_OFF) return "asked for";
    if (policy->strategy == NB_STRATEGY_REFERENCE)
        return "the strategy reference always runs uncompiled";
    return NULL;
}

void explain_compiled(const nb_context *ctx, const struct policy *policy,
                      const char *device, const struct plan last[PLAN_OPERATIONS],
                      const nb_compile_stats *stats, char *out, size_t n)
{
    const char *off = why_off(ctx, policy);
    struct text text;

    text.at = out;
    text.size = n;
    text.used = 0;
    if (off)
        append(&text, "compiled mode off: %s%s\n", off, ctx->env.disabled_by ? "=1" : "");
    else
        append(&text, "compiled mode on\n");
    append(&text, "images on %s; on the cpu kernel %s\n", device,
           policy->kernels.precise->name);
    for (int i = 0; !off && i < PLAN_OPERATIONS; i++)
        if (last[i].hash != 0) explain_plan(&text, last + i);
    append(&text,
           "plans made %llu, found %llu times; launches by a plan %llu; fallbacks %llu\n",
           (unsigned long long)stats->compiles, (unsigned long long)stats->hits,
           (unsigned long long)stats->compiled_launches,
           (unsigned long long)stats->fallbacks);
    if (stats->fallbacks > 0) append(&text, "fallback: %s\n", ctx->fallback);
    append(&text, "memory %llu bytes\n", (unsigned long long)stats->bytes);
}
