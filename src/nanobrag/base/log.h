/*
 * log.h - everything the library has to say goes through here, never through stdio.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BASE_LOG_H
#define NB_BASE_LOG_H

#include <nanobrag/context.h>

/* One line to the context's handler, level NB_LOG_...; silence without a handler. */
void log_line(const nb_context *ctx, int level, const char *topic, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
