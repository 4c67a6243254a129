/* log.c - topics and levels. SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/context.h"

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
