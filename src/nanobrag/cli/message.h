/*
 * message.h - what the program tells its user: errors, warnings, notes; kept for -json.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_MESSAGE_H
#define NB_CLI_MESSAGE_H

#include <stddef.h>

#include <nanobrag/status.h>

#if defined(__GNUC__)
#define MESSAGE_FORMAT __attribute__((format(printf, 2, 3)))
#else
#define MESSAGE_FORMAT
#endif

/* exit statuses; under compatibility every failure is EXIT_REFERENCE */
enum {
    EXIT_DONE = 0,
    EXIT_RUN = 1,
    EXIT_USAGE = 2,
    EXIT_REFERENCE = 9,
    EXIT_INTERRUPTED = 130
};

struct messages {
    int compat, quiet;
    char **warnings, **notes; /* said so far, without repetitions */
    size_t nwarnings, nnotes;
};

/* Both print one line and return the exit status: of wrong usage or input, of a run that
 * failed. */
int message_usage(struct messages *messages, const char *format, ...) MESSAGE_FORMAT;
int message_failure(struct messages *messages, const char *format, ...) MESSAGE_FORMAT;

/* The exit status that a failed library call calls for; `writing` tells a file that could
 * not be written from one that could not be read. Prints `message`. */
int message_status(struct messages *messages, nb_status status, const char *message,
                   int writing);

/* On stderr, each text once. Notes are left out under compatibility and -quiet. */
void message_warning(struct messages *messages, const char *format, ...) MESSAGE_FORMAT;
void message_note(struct messages *messages, const char *format, ...) MESSAGE_FORMAT;

void messages_free(struct messages *messages);

#endif
