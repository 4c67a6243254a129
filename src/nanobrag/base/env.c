/*
 * env.c - reads the environment variables. A switch is 0 or 1. An empty variable counts as
 * not set. A value that is not valid is ignored with a warning.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/log.h"

static int read_switch(const nb_context *ctx, const char *name, int otherwise)
{
    const char *value = getenv(name);

    if (!value || !*value) return otherwise;
    if (strcmp(value, "0") == 0) return 0;
    if (strcmp(value, "1") == 0) return 1;
    log_line(ctx, NB_LOG_WARNING, "env", "%s=%s is neither 1 nor 0; taken as %d", name,
             value, otherwise);
    return otherwise;
}

static int read_count(const nb_context *ctx, const char *name)
{
    const char *value = getenv(name);
    char *end;
    long count;

    if (!value || !*value) return 0;
    count = strtol(value, &end, 10);
    if (*end || count < 1 || count > CONTEXT_THREADS_MOST) {
        log_line(ctx, NB_LOG_WARNING, "env", "%s=%s is not a count from 1 to %d; ignored",
                 name, value, CONTEXT_THREADS_MOST);
        return 0;
    }
    return (int)count;
}

static int read_number(const nb_context *ctx, const char *name, int otherwise)
{
    enum { MOST = 1000000 };
    const char *value = getenv(name);
    char *end;
    long number;

    if (!value || !*value) return otherwise;
    number = strtol(value, &end, 10);
    if (!*end && number >= 0 && number <= MOST) return (int)number;
    log_line(ctx, NB_LOG_WARNING, "env", "%s=%s is not a number from 0 to %d; %d is taken",
             name, value, (int)MOST, otherwise);
    return otherwise;
}

/* Sets both timeouts. Without the variable, work in the background has a shorter one than
 * work that a call waits for. */
static void read_timeout(const nb_context *ctx, const char *name, struct env *env)
{
    const char *value = getenv(name);
    char *end;
    double seconds;

    env->compile_timeout = 10;
    env->wait_timeout = 120;
    if (!value || !*value) return;
    seconds = strtod(value, &end);
    if (!*end && seconds > 0 && seconds < 1e6)
        env->compile_timeout = env->wait_timeout = seconds;
    else
        log_line(ctx, NB_LOG_WARNING, "env", "%s=%s is not a time in seconds; %g is taken",
                 name, value, env->compile_timeout);
}

static void read_device(const nb_context *ctx, const char *name, struct env *env)
{
    const char *value = getenv(name);

    if (!value || !*value) return;
    if (nb_device_named(value, &env->device, &env->device_id) != NB_OK)
        log_line(ctx, NB_LOG_WARNING, "env",
                 "%s=%s is none of auto, cpu, cuda, cuda:N; ignored", name, value);
}

/* Converts names separated by commas or blanks to bits of enum topic. */
static unsigned read_topics(const nb_context *ctx, const char *name)
{
    const char *at = getenv(name);
    unsigned topics = 0;

    while (at && *at) {
        const size_t n = strcspn(at, ", ");
        const unsigned topic = topics_named(at, n);

        if (n > 0 && topic == 0)
            log_line(ctx, NB_LOG_WARNING, "env", "%s: %.*s is none of " TOPIC_NAMES ", all",
                     name, (int)n, at);
        topics |= topic;
        at += n + (at[n] != '\0');
    }
    return topics;
}

/* Takes the cache folder from the variable, or else from XDG_CACHE_HOME or HOME. */
static void read_cache_dir(const nb_context *ctx, const char *name, char *out)
{
    const char *chosen = getenv(name), *xdg = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    int n = 0;

    out[0] = '\0';
    if (chosen && *chosen)
        n = snprintf(out, ENV_PATH, "%s", chosen);
    else if (xdg && xdg[0] == '/')
        n = snprintf(out, ENV_PATH, "%s/nanobrag", xdg);
    else if (home && home[0] == '/')
        n = snprintf(out, ENV_PATH, "%s/.cache/nanobrag", home);
    if (n < ENV_PATH) return;
    log_line(ctx, NB_LOG_WARNING, "env",
             "the path of the cache is longer than %d characters; nothing is kept",
             ENV_PATH);
    out[0] = '\0';
}

struct env env_read(const nb_context *ctx)
{
    static const char *const disable[] = {"NANOBRAGG_DISABLE_COMPILE",
                                          "NANOBRAG_DISABLE_COMPILE"};
    struct env env = {0};
    const char *isa = getenv("NANOBRAG_ISA");

    env.threads = read_count(ctx, "NANOBRAG_THREADS");
    read_device(ctx, "NANOBRAG_DEVICE", &env);
    for (int i = 1; i >= 0; i--)
        if (read_switch(ctx, disable[i], 0)) env.disabled_by = disable[i];
    env.disable_compile = env.disabled_by != NULL;
    read_timeout(ctx, "NANOBRAG_COMPILE_TIMEOUT", &env);
    env.strict = read_switch(ctx, "NANOBRAG_STRICT", 0);
    env.graphs = read_switch(ctx, "NANOBRAG_GRAPHS", 1);
    env.hot_threshold = read_number(ctx, "NANOBRAG_HOT_THRESHOLD", 5);
    env.recompile_limit = read_number(ctx, "NANOBRAG_RECOMPILE_LIMIT", 8);
    env.topics = read_topics(ctx, "NANOBRAG_LOGS");
    read_cache_dir(ctx, "NANOBRAG_CACHE_DIR", env.cache_dir);
    if (isa) (void)snprintf(env.isa, sizeof env.isa, "%s", isa);
    return env;
}
