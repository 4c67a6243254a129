/*
 * say.c - errors, warnings, notes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cli/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 2048 };

static void error_line(const struct say *say, const char *format, va_list args)
{
    fflush(stdout);
    if (say->compat) {
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

int say_usage(struct say *say, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_line(say, format, args);
    va_end(args);
    return say->compat ? EXIT_REFERENCE : EXIT_USAGE;
}

int say_failure(struct say *say, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_line(say, format, args);
    va_end(args);
    return say->compat ? EXIT_REFERENCE : EXIT_RUN;
}

int say_status(struct say *say, nb_status status, const char *message, int writing)
{
    const char *text = message[0] ? message : nb_status_text(status);
    switch (status) {
    case NB_ERR_MEMORY:
    case NB_ERR_DEVICE:
        return say_failure(say, "%s", text);
    case NB_ERR_FILE:
        if (writing) return say_failure(say, "%s", text);
        return say_usage(say, "%s", text);
    default:
        return say_usage(say, "%s", text);
    }
}

/* returns 1 when the line is new */
static int keep(char ***lines, size_t *n, const char *text)
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

void say_warning(struct say *say, const char *format, ...)
{
    char text[LINE_MAX_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!keep(&say->warnings, &say->nwarnings, text)) return;
    fflush(stdout);
    fprintf(stderr, "nanobrag: warning: %s\n", text);
}

void say_note(struct say *say, const char *format, ...)
{
    if (say->compat) return;
    char text[LINE_MAX_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!keep(&say->notes, &say->nnotes, text) || say->quiet) return;
    fflush(stdout);
    fprintf(stderr, "nanobrag: note: %s\n", text);
}

void say_free(struct say *say)
{
    for (size_t i = 0; i < say->nwarnings; i++) free(say->warnings[i]);
    for (size_t i = 0; i < say->nnotes; i++) free(say->notes[i]);
    free(say->warnings);
    free(say->notes);
}
