/*
 * message.h - prints errors, warnings and notes for the user, and keeps warnings and notes
 * for the file of -json.
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

/* The exit statuses. With -compat nanobragg every failure exits with EXIT_REFERENCE. */
enum {
    EXIT_DONE = 0,
    EXIT_RUN = 1,
    EXIT_USAGE = 2,
    EXIT_REFERENCE = 9,
    EXIT_INTERRUPTED = 130 /* also after SIGTERM; main() then exits with 143 */
};

struct messages {
    int compat, quiet;
    char **warnings, **notes; /* lines printed so far, each once */
    size_t nwarnings, nnotes;
    /* Takes every line, without "nanobrag: " in front and a newline, in place of stderr and
     * stdout, for a caller that is not the program. If NULL, lines are printed. */
    void (*take)(void *user, const char *line);
    void *user; /* passed to take */
};

/* Print one line and return an exit status. message_usage() is for wrong options or input,
 * message_failure() for a run that failed. */
int message_usage(struct messages *messages, const char *format, ...) MESSAGE_FORMAT;
int message_failure(struct messages *messages, const char *format, ...) MESSAGE_FORMAT;

/* Print `message` and return the exit status for the status of a library call. `writing` is
 * 1 if the call wrote a file: its failure is then no fault of the input. */
int message_status(struct messages *messages, nb_status status, const char *message,
                   int writing);

/* Print a line to stderr, unless the same line was printed before. Notes are not printed
 * with -compat nanobragg, nor with -quiet. */
void message_warning(struct messages *messages, const char *format, ...) MESSAGE_FORMAT;
void message_note(struct messages *messages, const char *format, ...) MESSAGE_FORMAT;

/* Print a note that is needed to repeat a run, with -quiet as well. */
void message_record(struct messages *messages, const char *format, ...) MESSAGE_FORMAT;

void messages_free(struct messages *messages);

#endif
