/*
 * env.c - the environment, in one place. A switch is 1 for on, 0 or empty for off;
 * anything else is off with a warning.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/log.h"

static int read_switch(const nb_context *ctx, const char *name)
{
    const char *value = getenv(name);

    if (!value || !*value || strcmp(value, "0") == 0) return 0;
    if (strcmp(value, "1") == 0) return 1;
    log_line(ctx, NB_LOG_WARNING, "env", "%s=%s is neither 1 nor 0; taken as 0", name,
             value);
    return 0;
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

struct env env_read(const nb_context *ctx)
{
    struct env env = {0};
    const char *isa = getenv("NANOBRAG_ISA");

    env.threads = read_count(ctx, "NANOBRAG_THREADS");
    env.disable_compile = read_switch(ctx, "NANOBRAGG_DISABLE_COMPILE")
                          || read_switch(ctx, "NANOBRAG_DISABLE_COMPILE");
    if (isa) (void)snprintf(env.isa, sizeof env.isa, "%s", isa);
    return env;
}
