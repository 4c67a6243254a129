/*
 * message.h - errors, warnings and notes for the user; they are saved for -json.
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

/* The exit statuses. Under compatibility every failure is EXIT_REFERENCE. */
enum {
    EXIT_DONE = 0,
    EXIT_RUN = 1,
    EXIT_USAGE = 2,
    EXIT_REFERENCE = 9,
    EXIT_INTERRUPTED = 130 /* within the program also for SIGTERM, which ends with 143 */
};

struct messages {
    int compat, quiet;
    char **warnings, **notes; /* printed so far, without repetitions */
    size_t nwarnings, nnotes;
    /* Receives every line, without "nanobrag: " and a newline, in place of stderr and
     * stdout: for a caller that is not the program. NULL: lines are printed. */
    void (*take)(void *user, const char *line);
    void *user; /* passed to take */
};

/* Print one line and return an exit status: message_usage() for wrong usage or input,
 * message_failure() for a run that failed. */
int message_usage(struct messages *messages, const char *format, ...) MESSAGE_FORMAT;
int message_failure(struct messages *messages, const char *format, ...) MESSAGE_FORMAT;

/* Print `message` and return the exit status of a failed library call. `writing`: the call
 * wrote a file, whose failure is not the input's fault. */
int message_status(struct messages *messages, nb_status status, const char *message,
                   int writing);

/* Print a line to stderr; each text is printed once. Notes are omitted under compatibility
 * and -quiet. */
void message_warning(struct messages *messages, const char *format, ...) MESSAGE_FORMAT;
void message_note(struct messages *messages, const char *format, ...) MESSAGE_FORMAT;

/* The same for a note that is needed to repeat a run: -quiet keeps it. */
void message_record(struct messages *messages, const char *format, ...) MESSAGE_FORMAT;

void messages_free(struct messages *messages);

#endif
