/*
 * context.c - the object every call hangs on. SPDX-License-Identifier: MIT
 */
#include "base/context.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/array.h>

#include "base/log.h"
#include "base/threads.h"

nb_status fail(nb_context *ctx, nb_status status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(ctx->message, sizeof ctx->message, format, args);
    va_end(args);
    return status;
}

nb_status fail_memory(nb_context *ctx, const char *what)
{
    return fail(ctx, NB_ERR_MEMORY, "out of memory for %s", what);
}

nb_status nb_context_create(int api_version, const nb_context_options *options,
                            nb_context **out)
{
    nb_context *ctx;

    if (!out) return NB_ERR_ARGUMENT;
    *out = NULL;
    if (api_version != NB_API_VERSION) return NB_ERR_ARGUMENT;
    if (options
        && (options->threads < 0 || options->threads > CONTEXT_THREADS_MOST
            || options->compile < NB_COMPILE_ON || options->compile > NB_COMPILE_REQUIRE))
        return NB_ERR_ARGUMENT;
    if (options && options->device != 0 && options->device != NB_CPU)
        return NB_ERR_UNSUPPORTED;
    ctx = calloc(1, sizeof *ctx);
    if (!ctx) return NB_ERR_MEMORY;
    if (options) ctx->options = *options;
    ctx->env = env_read(ctx);
    ctx->threads = threads_count(ctx->options.threads, ctx->env.threads);
    if (ctx->threads > CONTEXT_THREADS_MOST) {
        log_line(ctx, NB_LOG_WARNING, "env",
                 "OMP_NUM_THREADS=%d: %d threads are used, the most", ctx->threads,
                 CONTEXT_THREADS_MOST);
        ctx->threads = CONTEXT_THREADS_MOST;
    }
    *out = ctx;
    return NB_OK;
}

int context_compile(const nb_context *ctx)
{
    return ctx->env.disable_compile ? NB_COMPILE_OFF : ctx->options.compile;
}

nb_status context_fall_back(nb_context *ctx, const char *format, ...)
{
    char *why = ctx->fallback;
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why, sizeof ctx->fallback, format, args);
    va_end(args);
    ctx->fallbacks++;
    log_line(ctx, NB_LOG_INFO, "fallback", "%s", why);
    log_topic(ctx, TOPIC_FALLBACK, "%s", why);
    if (!ctx->env.strict) return NB_OK;
    return fail(ctx, NB_ERR_UNSUPPORTED, "%s (NANOBRAG_STRICT=1)", why);
}

void nb_context_free(nb_context *ctx)
{
    if (ctx) free(ctx->plans);
    free(ctx);
}

const char *nb_context_message(const nb_context *ctx)
{
    return ctx ? ctx->message : "";
}

int nb_context_threads(const nb_context *ctx)
{
    return ctx ? ctx->threads : 0;
}
