/*
 * text.h - a cursor over the lines, words and numbers of a text in memory.
 *
 * Nothing is copied and no byte beyond the text is read; the text need not end in a NUL or
 * a newline. Numbers are decimal reals, whatever the locale.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_TEXT_H
#define NB_IO_TEXT_H

#include <stddef.h>

#include <nanobrag/context.h>

struct span {
    const char *at;
    size_t n;
};

struct text {
    const char *name; /* of the file, for messages */
    const char *separators; /* of words, beside white space; a CR is white space */
    struct span rest;
    long line; /* number of the line that text_line() gave last */
};

/* Start on bytes; `expected` says what the file should hold. NB_ERR_FORMAT when it is
 * binary. */
nb_status text_open(nb_context *ctx, const char *name, const void *bytes, size_t n,
                    const char *expected, struct text *text);

/* The next number and the blanks after it, none of which ends a line: 1 and `at` moved on.
 * 0, nothing moved, for anything but an optional sign and at most 15 digits with a point
 * among them or none: text_number() may know better. */
int text_plain_number(const char **at, const char *end, double *value);

/* The next line that is neither blank nor a comment; 0 at the end. */
int text_line(struct text *text, struct span *line);

/* Take the next word off a line; 0 when none is left. */
int text_word(const struct text *text, struct span *line, struct span *word);

/* Bytes of the number that the span starts with, 0 for none. May overflow to infinity. */
size_t text_number_prefix(struct span span, double *value);

/* The whole word is one finite number. */
int text_number(struct span word, double *value);

/* A short printable copy of a word for a message. */
struct text_shown {
    char s[40];
};
struct text_shown text_show(struct span word);

#endif
