/*
 * text.h - reads lines, words and numbers of a text in memory.
 *
 * Nothing is copied, and no byte beyond the text is read, which need not end in a NUL or a
 * newline. Numbers are read and written with a decimal point in any locale.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_TEXT_H
#define NB_IO_TEXT_H

#include <stddef.h>

#include <nanobrag/context.h>

/* characters of a text, which are not copied */
struct span {
    const char *at;
    size_t n;
};

struct text {
    const char *name; /* name of the file, for messages */
    const char *separators; /* characters besides white space that separate words */
    struct span rest; /* the text that is not read yet */
    long line; /* number of the line read last, from 1 */
};

/* Begins to read a text. `expected` says in messages what it should contain. Returns
 * NB_ERR_FORMAT if it is binary. */
nb_status text_open(nb_context *ctx, const char *name, const void *bytes, size_t n,
                    const char *expected, struct text *text);

/* Reads a plain number at *at, and blanks behind it. Plain is an optional sign, up to 15
 * digits with an optional point, and an optional exponent that is small. Returns 1, with
 * *at behind the blanks. Returns 0, with *at unchanged, for anything else, which
 * text_number() may still accept. */
int text_plain_number(const char **at, const char *end, double *value);

/* Reads the next line that is neither blank nor a comment. Returns 0 at the end of the
 * text. */
int text_line(struct text *text, struct span *line);

/* Takes the next word off a line. Returns 0 if there is none. */
int text_word(const struct text *text, struct span *line, struct span *word);

/* Reads the number at the start of a span. Returns its length in bytes; 0 if there is none.
 * A number beyond the range of a double gives infinity. */
size_t text_number_prefix(struct span span, double *value);

/* Reads a word that is a finite number. Returns 0 if it is anything else. */
int text_number(struct span word, double *value);

/* Writes a real with `digits` significant digits and a decimal point; 17 digits read back
 * as the same number. Returns 0 if there is no memory. */
enum { TEXT_REAL = 32 };
int text_real(char out[TEXT_REAL], int digits, double value);

/* Writes a real like text_real(), but with `decimals` decimals and no exponent. Decimals
 * that do not fit into TEXT_REAL are dropped. */
int text_fixed(char out[TEXT_REAL], int decimals, double value);

/* a short printable copy of a word, for messages */
struct text_shown {
    char s[40];
};
struct text_shown text_show(struct span word);

#endif
