/*
 * command_line.h - the command line as a list of events: options with their values, in the
 * order given.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_OPTIONS_COMMAND_LINE_H
#define NB_CLI_OPTIONS_COMMAND_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "nanobrag_command/message.h"

enum { EVENT_VALUES = 6 };

struct event {
    int option; /* enum option_id */
    int n; /* number of values; for MISSET 1 means random */
    const char *text; /* the first value as given */
    double real[EVENT_VALUES]; /* for DEPTH INFINITY means inf */
    int64_t integer[EVENT_VALUES];
};

/* The number of the event's word among the choices of its option, from 0 on; 0 where it is
 * none of them. */
int event_choice(const struct event *e);

struct event_list {
    struct event *at;
    size_t n;
};

/* Choose the profile by argv, NANOBRAG_COMPAT and the program's name; 1: nanoBragg's.
 * *wrong is a value that is not understood, or NULL. */
int parse_profile(int argc, char **argv, const char **wrong);

/* Parse argv by the rules of the profile in `messages`. Returns 0, or the exit status after
 * a message. The list is to be freed with events_free() in either case. */
int parse_arguments(struct messages *messages, int argc, char **argv,
                    struct event_list *out);

void events_free(struct event_list *events);

/* The text of the last event of an option, or NULL. */
const char *events_text(const struct event_list *events, int option);

/* ---- used by the two parsers ---- */
struct event *events_add(struct event_list *events, int option);

/* Parse value i of option `id` from `text`, strictly. Returns 0 or the exit status. */
int parse_value(struct messages *messages, int id, const char *text, int i,
                struct event *event);

/* Parse the option argv[*i] with its values, strictly; *i moves to its last value. Returns
 * 0 or the exit status. */
int parse_option(struct messages *messages, int argc, char **argv, int *i, int id,
                 struct event_list *out);

/* Parse the whole text as a finite number; returns 0 when it is none. */
int parse_real(const char *text, double *value);
int parse_is_number(const char *text);

int parse_compat(struct messages *messages, int argc, char **argv, struct event_list *out);

#endif
