/*
 * log.h - writes the lines of the log. Lines with a level (NB_LOG_...) go to the log
 * handler of the context. Lines with a topic, about compiled mode, go to stderr if
 * NANOBRAG_LOGS names the topic.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BASE_LOG_H
#define NB_BASE_LOG_H

#include <stddef.h>

#include <nanobrag/context.h>

/* The topics: constant, name, and subject of the lines. */
#define TOPIC_LIST(X)                                                                      \
    X(RECOMPILES, recompiles, "plans made, and what differed from the one before")         \
    X(GRAPH_BREAKS, graph_breaks, "what lies between compiled regions")                    \
    X(CUDAGRAPHS, cudagraphs, "graphs captured, replayed or skipped")                      \
    X(CACHE, cache, "plans and kernels found or not, kept or dropped")                     \
    X(HOTPATH, hotpath, "kernels built for what is used often")                            \
    X(AUTOTUNE, autotune, "the strategy that was chosen, and why")                         \
    X(FALLBACK, fallback, "what could not be had")                                         \
    X(DONATION, donation, "arrays given away, used or not")

#define TOPIC_NAMES                                                                        \
    "recompiles, graph_breaks, cudagraphs, cache, hotpath, autotune, fallback, donation"

#define TOPIC_PLACE(topic, name, text) TOPIC_PLACE_##topic,
enum { TOPIC_LIST(TOPIC_PLACE) TOPICS };
#undef TOPIC_PLACE

#define TOPIC_BIT(topic, name, text) TOPIC_##topic = 1 << TOPIC_PLACE_##topic,
enum topic { TOPIC_LIST(TOPIC_BIT) TOPIC_ALL = (1 << TOPICS) - 1 };
#undef TOPIC_BIT

/* Returns the bit of the topic whose name is the n characters at `name`, all bits for
 * "all", or 0 if there is no such topic. */
unsigned topics_named(const char *name, size_t n);

/* Sends one line with a level NB_LOG_... to the log handler of the context, if there is
 * one. */
void log_line(const nb_context *ctx, int level, const char *topic, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Writes one line to stderr if NANOBRAG_LOGS names the topic. */
void log_topic(const nb_context *ctx, enum topic topic, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
