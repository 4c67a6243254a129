/* log.c - formats and sends the lines of the log. SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"

#define TOPIC_NAME(topic, name, text) [TOPIC_PLACE_##topic] = #name,
static const char *const names[] = {TOPIC_LIST(TOPIC_NAME)};
#undef TOPIC_NAME

unsigned topics_named(const char *name, size_t n)
{
    for (unsigned i = 0; i < TOPICS; i++)
        if (strlen(names[i]) == n && strncmp(names[i], name, n) == 0) return 1U << i;
    return n == 3 && strncmp(name, "all", n) == 0 ? TOPIC_ALL : 0;
}

void log_line(const nb_context *ctx, int level, const char *topic, const char *format, ...)
{
    char line[CONTEXT_MESSAGE];
    va_list args;

    if (!ctx->options.log) return;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    ctx->options.log(ctx->options.user, level, topic, line);
}

void log_topic(const nb_context *ctx, enum topic topic, const char *format, ...)
{
    char line[CONTEXT_MESSAGE];
    va_list args;
    int place = 0;

    if (!(ctx->env.topics & (unsigned)topic)) return;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    while (!((unsigned)topic >> place & 1U)) place++;
    (void)fprintf(stderr, "nanobrag: [%s] %s\n", names[place], line);
}
