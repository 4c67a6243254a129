/*
 * text.h - reads lines, words and numbers of a text in memory.
 *
 * Nothing is copied and no byte beyond the text is read; the text need not end in a NUL or
 * a newline. Numbers are decimal reals, whatever the locale, and are written so.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_TEXT_H
#define NB_IO_TEXT_H

#include <stddef.h>

#include <nanobrag/context.h>

/* Some characters of the text. */
struct span {
    const char *at;
    size_t n;
};

struct text {
    const char *name; /* name of the file, for messages */
    const char *separators; /* characters that separate words, besides white space and CR */
    struct span rest; /* the text after the last line */
    long line; /* number of the last line that text_line() returned, from 1 */
};

/* Opens a text; `expected` names the expected contents, for messages. Returns NB_ERR_FORMAT
 * if it is binary. */
nb_status text_open(nb_context *ctx, const char *name, const void *bytes, size_t n,
                    const char *expected, struct text *text);

/* Reads a plain number (an optional sign, up to 15 digits with an optional point, and an
 * optional small exponent) and the blanks after it on the line. Returns 1 with `at` after
 * them. Returns 0, with `at` unchanged, for anything else, which text_number() may still
 * accept. */
int text_plain_number(const char **at, const char *end, double *value);

/* Reads the next line that is neither blank nor a comment. Returns 0 at the end. */
int text_line(struct text *text, struct span *line);

/* Removes the next word from a line. Returns 0 if there is none. */
int text_word(const struct text *text, struct span *line, struct span *word);

/* Reads the number at the start of a span. Returns its length in bytes, 0 if there is none.
 * A large number gives infinity. */
size_t text_number_prefix(struct span span, double *value);

/* Reads a word that is one finite number. Returns 0 for any other word. */
int text_number(struct span word, double *value);

/* Writes a real with `digits` digits and a decimal point; 17 digits read back exactly.
 * Returns 0 if there is no memory. */
enum { TEXT_REAL = 32 };
int text_real(char out[TEXT_REAL], int digits, double value);

/* Writes a real with `decimals` decimals and without an exponent, in the same way; decimals
 * that do not fit into TEXT_REAL are dropped. */
int text_fixed(char out[TEXT_REAL], int decimals, double value);

/* A short printable copy of a word for a message. */
struct text_shown {
    char s[40];
};
struct text_shown text_show(struct span word);

#endif
