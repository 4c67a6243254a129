/*
 * command_line.h - the command line as a list of events: options with their values, in
 * order.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_OPTIONS_COMMAND_LINE_H
#define NB_CLI_OPTIONS_COMMAND_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "cli/message.h"

enum { EVENT_VALUES = 6 };

struct event {
    int option; /* enum option_id */
    int n; /* values; MISSET: 1 for random */
    const char *text; /* the first value as it was given */
    double real[EVENT_VALUES]; /* DEPTH: INFINITY for inf */
    int64_t integer[EVENT_VALUES];
};

struct event_list {
    struct event *at;
    size_t n;
};

/* Which profile argv, NANOBRAG_COMPAT and the program's name ask for; 1: nanoBragg's.
 * `*wrong` is set to what cannot be understood, or NULL. */
int parse_profile(int argc, char **argv, const char **wrong);

/* Read argv by the rules of the profile in `say`. Returns 0, or the exit status after
 * saying what is wrong. Free with events_free() in either case. */
int parse_arguments(struct messages *messages, int argc, char **argv,
                    struct event_list *out);

void events_free(struct event_list *events);

/* ---- used by the two parsers ---- */
struct event *events_add(struct event_list *events, int option);

/* Value i of option `id` from `text`, strictly. Returns 0, or the exit status. */
int parse_value(struct messages *messages, int id, const char *text, int i,
                struct event *event);

/* The option argv[*i] with its values, strictly; *i moves to its last value. */
int parse_option(struct messages *messages, int argc, char **argv, int *i, int id,
                 struct event_list *out);

/* The whole text as a finite number; 0 when it is none. */
int parse_real(const char *text, double *value);
int parse_is_number(const char *text);

int parse_compat(struct messages *messages, int argc, char **argv, struct event_list *out);

#endif
