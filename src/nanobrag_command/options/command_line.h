/*
 * command_line.h - a command line as a list of events. An event is one option with its
 * values; events stand in the order given.
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
    int n; /* number of values; of -misset, 1 means random */
    const char *text; /* the first value as typed */
    double real[EVENT_VALUES]; /* values as numbers; INFINITY stands for inf */
    int64_t integer[EVENT_VALUES];
};

/* Returns which of its option's words the event has, from 0 on; 0 also if it has none. */
int event_choice(const struct event *e);

struct event_list {
    struct event *at;
    size_t n;
};

/* Choose the profile by -compat in argv, by NANOBRAG_COMPAT and by the program's name.
 * Returns 1 for nanoBragg's. *wrong is a value that names no profile, or NULL. */
int parse_profile(int argc, char **argv, const char **wrong);

/* Parse argv by the rules of messages->compat. Returns 0, or the exit status after a
 * message. The caller calls events_free() in either case. */
int parse_arguments(struct messages *messages, int argc, char **argv,
                    struct event_list *out);

void events_free(struct event_list *events);

/* Returns the first value of the last event of an option, or NULL without such an event. */
const char *events_text(const struct event_list *events, int option);

/* ---- used by parse_compat.c and command_line.c ---- */
struct event *events_add(struct event_list *events, int option);

/* Parse `text` as value i of option `id`, and refuse values that the option does not allow.
 * Returns 0 or the exit status. */
int parse_value(struct messages *messages, int id, const char *text, int i,
                struct event *event);

/* Parse the option argv[*i] and its values, and refuse values that it does not allow. *i
 * moves to the last value. Returns 0 or the exit status. */
int parse_option(struct messages *messages, int argc, char **argv, int *i, int id,
                 struct event_list *out);

/* Parse the whole text as a finite number. Returns 0 if it is not one, else 1. */
int parse_real(const char *text, double *value);
int parse_is_number(const char *text);

int parse_compat(struct messages *messages, int argc, char **argv, struct event_list *out);

#endif
