/*
 * message.c - prints errors, warnings and notes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_command/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 2048 };

static void error_line(const struct messages *messages, const char *format, va_list args)
{
    if (messages->take) {
        char text[LINE_MAX_BYTES];
        vsnprintf(text, sizeof text, format, args);
        messages->take(messages->user, text);
        return;
    }
    fflush(stdout);
    if (messages->compat) {
        printf("ERROR: ");
        vprintf(format, args);
        printf("\n");
        fflush(stdout);
    } else {
        fprintf(stderr, "nanobrag: ");
        vfprintf(stderr, format, args);
        fprintf(stderr, "\n");
    }
}

int message_usage(struct messages *messages, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_line(messages, format, args);
    va_end(args);
    return messages->compat ? EXIT_REFERENCE : EXIT_USAGE;
}

int message_failure(struct messages *messages, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_line(messages, format, args);
    va_end(args);
    return messages->compat ? EXIT_REFERENCE : EXIT_RUN;
}

/* Returns the length of a message without a struct member in brackets at its end, as in
 * "-cell: gamma is 200 (crystal.cell[5])". The member is meant for callers of the
 * library. */
static int length_in_words(const char *message)
{
    static const char *const owners[] = {"crystal.",    "detector.", "beam.",  "scan.",
                                         "background.", "psf.",      "target."};
    const size_t n = strlen(message);
    const char *const open = strrchr(message, '(');
    if (!open || open == message || open[-1] != ' ' || message[n - 1] != ')') return (int)n;
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++)
        if (strncmp(open + 1, owners[i], strlen(owners[i])) == 0 && !strchr(open, ' '))
            return (int)(open - message) - 1;
    return (int)n;
}

int message_status(struct messages *messages, nb_status status, const char *message,
                   int writing)
{
    const char *text = message[0] ? message : nb_status_text(status);
    const int n = length_in_words(text);
    switch (status) {
    case NB_ERR_CANCELLED:
        return EXIT_INTERRUPTED;
    case NB_ERR_MEMORY:
    case NB_ERR_DEVICE:
        return message_failure(messages, "%.*s", n, text);
    case NB_ERR_FILE:
        if (writing) return message_failure(messages, "%.*s", n, text);
        return message_usage(messages, "%.*s", n, text);
    default:
        return message_usage(messages, "%.*s", n, text);
    }
}

/* Print a warning or a note, or hand it to messages->take() if there is one. */
static void remark(const struct messages *messages, const char *kind, const char *text)
{
    char line[LINE_MAX_BYTES + 16];
    if (!messages->take) {
        fflush(stdout);
        fprintf(stderr, "nanobrag: %s: %s\n", kind, text);
        return;
    }
    snprintf(line, sizeof line, "%s: %s", kind, text);
    messages->take(messages->user, line);
}

/* Append a line to a list. Returns 0 if the list has the line already, else 1. */
static int append_new(char ***lines, size_t *n, const char *text)
{
    for (size_t i = 0; i < *n; i++)
        if (strcmp((*lines)[i], text) == 0) return 0;
    char **grown = realloc(*lines, (*n + 1) * sizeof *grown);
    if (!grown) return 1;
    *lines = grown;
    const size_t size = strlen(text) + 1;
    grown[*n] = malloc(size);
    if (!grown[*n]) return 1;
    memcpy(grown[*n], text, size);
    *n += 1;
    return 1;
}

void message_warning(struct messages *messages, const char *format, ...)
{
    char text[LINE_MAX_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!append_new(&messages->warnings, &messages->nwarnings, text)) return;
    remark(messages, "warning", text);
}

static void note_line(struct messages *messages, int quiet, const char *format,
                      va_list args)
{
    char text[LINE_MAX_BYTES];
    vsnprintf(text, sizeof text, format, args);
    if (!append_new(&messages->notes, &messages->nnotes, text) || quiet) return;
    remark(messages, "note", text);
}

void message_note(struct messages *messages, const char *format, ...)
{
    va_list args;
    if (messages->compat) return;
    va_start(args, format);
    note_line(messages, messages->quiet, format, args);
    va_end(args);
}

void message_record(struct messages *messages, const char *format, ...)
{
    va_list args;
    if (messages->compat) return;
    va_start(args, format);
    note_line(messages, 0, format, args);
    va_end(args);
}

void messages_free(struct messages *messages)
{
    for (size_t i = 0; i < messages->nwarnings; i++) free(messages->warnings[i]);
    for (size_t i = 0; i < messages->nnotes; i++) free(messages->notes[i]);
    free(messages->warnings);
    free(messages->notes);
}
