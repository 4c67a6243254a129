/*
 * context.c - makes and frees contexts, and records failures and fallbacks in them.
 * SPDX-License-Identifier: MIT
 */
#include "base/context.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/array.h>

#include "base/floats.h"
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

/* The largest number of a device; a larger one is refused as a mistake. */
enum { DEVICES_MOST = 4096 };

/* Take the device from the options, or else from the environment; the default is the
 * host. */
static void choose_device(nb_context *ctx)
{
    const int given = ctx->options.device != 0;

    ctx->device = given ? ctx->options.device : ctx->env.device;
    ctx->device_id = given ? ctx->options.device_id : ctx->env.device_id;
    if (ctx->device == 0) ctx->device = NB_DEVICE_CPU;
}

nb_status nb_context_create(int api_version, const nb_context_options *options,
                            nb_context **out)
{
    STANDARD_FLOATS;
    nb_context *ctx;

    if (!out) return NB_ERR_ARGUMENT;
    *out = NULL;
    if (api_version != NB_API_VERSION) return NB_ERR_ARGUMENT;
    if (options
        && (options->threads < 0 || options->threads > CONTEXT_THREADS_MOST
            || options->compile < NB_COMPILE_ON || options->compile > NB_COMPILE_REQUIRE))
        return NB_ERR_ARGUMENT;
    if (options && options->device != 0 && options->device != NB_DEVICE_CPU
        && options->device != NB_DEVICE_CUDA && options->device != NB_DEVICE_AUTO)
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
    if (ctx->options.compile == NB_COMPILE_TUNE)
        log_line(ctx, NB_LOG_NOTE, "compile",
                 "compiled mode with tuning is the same as without: nothing is measured");
    choose_device(ctx);
    *out = ctx;
    return NB_OK;
}

nb_status nb_device_named(const char *name, int *device, int *device_id)
{
    char *end = NULL;
    long id = 0;

    if (!name || !device || !device_id) return NB_ERR_ARGUMENT;
    if (strncmp(name, "cuda:", 5) == 0 && name[5] >= '0' && name[5] <= '9')
        id = strtol(name + 5, &end, 10);
    if (strcmp(name, "auto") == 0)
        *device = NB_DEVICE_AUTO;
    else if (strcmp(name, "cpu") == 0)
        *device = NB_DEVICE_CPU;
    else if (strcmp(name, "cuda") == 0 || (end && !*end && id <= DEVICES_MOST))
        *device = NB_DEVICE_CUDA;
    else
        return NB_ERR_ARGUMENT;
    *device_id = (int)id;
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
    if (!ctx) return;
    if (ctx->close_gpu) ctx->close_gpu(ctx->gpu);
    free(ctx->plans);
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
