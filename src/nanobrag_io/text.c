/*
 * text.c - reads lines, words and numbers of a text in memory.
 *
 * strtod() depends on the program's locale and needs a NUL at the end. So the end of a
 * number is found here, and a copy of the number is converted by strtod_l() (in glibc and
 * musl) with the locale "C". Plain numbers, as most in lists of reflections are, are
 * converted without these calls.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE // NOLINT(readability-identifier-naming): strtod_l

#include "nanobrag_io/text.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"

enum { NUMBER_MAX = 254 }; /* bytes of a number */

nb_status text_open(nb_context *ctx, const char *name, const void *bytes, size_t n,
                    const char *expected, struct text *text)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* byte order mark of UTF-8 */
    const char *nul = n ? memchr(bytes, 0, n) : NULL;

    if (nul)
        return fail(ctx, NB_ERR_FORMAT,
                    "%s: the file holds binary data (a NUL at byte %zu), expected text "
                    "with %s; check that it is the right file",
                    name, (size_t)(nul - (const char *)bytes), expected);
    text->name = name;
    text->separators = "";
    text->rest.at = bytes;
    text->rest.n = n;
    text->line = 0;
    if (n >= sizeof mark - 1 && memcmp(bytes, mark, sizeof mark - 1) == 0) {
        text->rest.at += sizeof mark - 1;
        text->rest.n -= sizeof mark - 1;
    }
    return NB_OK;
}

static void advance(struct span *span, size_t n)
{
    span->at += n;
    span->n -= n;
}

/* Returns 1 for white space and separators. c is never NUL, because text_open() refuses
 * NULs. */
static int is_blank(const struct text *text, char c)
{
    if (c == ' ' || (c >= '\t' && c <= '\r')) return 1;
    return *text->separators && strchr(text->separators, c);
}

static void skip_blanks(const struct text *text, struct span *line)
{
    while (line->n > 0 && is_blank(text, *line->at)) advance(line, 1);
}

int text_line(struct text *text, struct span *line)
{
    while (text->rest.n > 0) {
        const char *end = memchr(text->rest.at, '\n', text->rest.n);

        line->at = text->rest.at;
        line->n = end ? (size_t)(end - line->at) : text->rest.n;
        advance(&text->rest, line->n + (end ? 1 : 0));
        text->line++;
        skip_blanks(text, line);
        if (line->n > 0 && *line->at != '#') return 1;
    }
    return 0;
}

int text_word(const struct text *text, struct span *line, struct span *word)
{
    size_t n = 0;

    skip_blanks(text, line);
    while (n < line->n && !is_blank(text, line->at[n])) n++;
    word->at = line->at;
    word->n = n;
    advance(line, n);
    return n > 0;
}

static int is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

static size_t skip_digits(struct span span, size_t i)
{
    while (i < span.n && is_digit(span.at[i])) i++;
    return i;
}

static size_t skip_sign(struct span span, size_t i)
{
    return i < span.n && (span.at[i] == '+' || span.at[i] == '-') ? i + 1 : i;
}

/* Returns the length of the number at the start of a span; 0 if there is none. */
static size_t number_length(struct span span)
{
    const size_t first = skip_sign(span, 0);
    size_t end = skip_digits(span, first), digits = end - first;

    if (end < span.n && span.at[end] == '.') {
        const size_t point = end++;

        end = skip_digits(span, end);
        digits += end - point - 1;
    }
    if (digits == 0) return 0;
    if (end < span.n && (span.at[end] == 'e' || span.at[end] == 'E')) {
        const size_t exponent = skip_sign(span, end + 1);
        const size_t behind = skip_digits(span, exponent);

        if (behind > exponent) end = behind;
    }
    return end;
}

/* powers of ten that a double holds exactly */
enum { POWER_MAX = 22 };
static const double power[POWER_MAX + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                            1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                            1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static int is_line_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Reads an exponent of one or two digits and adds it to *exponent. Returns 0 if there is
 * none, if other characters follow, or if the sum is beyond the exact powers of ten. */
static int add_exponent(const char **at, const char *end, ptrdiff_t *exponent)
{
    const char *p = *at;
    ptrdiff_t value = 0;
    int negative = 0;

    if (*p != 'e' && *p != 'E') return 0;
    p++;
    if (p < end && (*p == '-' || *p == '+')) negative = *p++ == '-';
    if (p == end || !is_digit(*p)) return 0;
    value = *p++ - '0';
    if (p < end && is_digit(*p)) value = 10 * value + (*p++ - '0');
    *exponent += negative ? -value : value;
    *at = p;
    return *exponent >= -POWER_MAX && *exponent <= POWER_MAX
           && (p == end || is_line_blank(*p));
}

int text_plain_number(const char **at, const char *end, double *value)
{
    enum { DIGITS = 15 }; /* a double holds whole numbers of 15 digits exactly */
    const char *p = *at, *first, *point;
    int64_t mantissa = 0;
    ptrdiff_t digits, exponent = 0;
    int negative = 0;

    if (p < end && (*p == '-' || *p == '+')) negative = *p++ == '-';
    for (first = p; p < end && is_digit(*p) && p - first < DIGITS; p++)
        mantissa = 10 * mantissa + (*p - '0');
    digits = p - first;
    if (p < end && *p == '.') {
        point = p;
        for (p++; p < end && is_digit(*p) && p - first <= DIGITS; p++)
            mantissa = 10 * mantissa + (*p - '0');
        exponent = point + 1 - p;
    }
    if (digits - exponent < 1) return 0;
    if (p < end && !is_line_blank(*p) && !add_exponent(&p, end, &exponent)) return 0;
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r')) p++;
    /* mantissa and power are exact, so the result is correctly rounded */
    *value = exponent == 0  ? (double)mantissa
             : exponent < 0 ? (double)mantissa / power[-exponent]
                            : (double)mantissa * power[exponent];
    if (negative) *value = -*value;
    *at = p;
    return 1;
}

size_t text_number_prefix(struct span span, double *value)
{
    const size_t length = number_length(span);
    const char *at = span.at;
    char copy[NUMBER_MAX + 1];
    locale_t plain;

    if (length == 0 || length > NUMBER_MAX) return 0;
    if (text_plain_number(&at, at + length, value)) return length;
    memcpy(copy, span.at, length);
    copy[length] = '\0';
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a locale that every system has */
    *value = strtod_l(copy, NULL, plain);
    freelocale(plain);
    return length;
}

int text_number(struct span word, double *value)
{
    double number;

    if (text_number_prefix(word, &number) != word.n || word.n == 0) return 0;
    if (!isfinite(number)) return 0;
    *value = number;
    return 1;
}

/* Writes a real with a decimal point in any locale. Returns 0 if there is no memory. */
__attribute__((format(printf, 2, 0))) static int write_plain(char out[TEXT_REAL],
                                                             const char *format, int digits,
                                                             double value)
{
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before;

    if (!plain) return 0;
    before = uselocale(plain);
    (void)snprintf(out, TEXT_REAL, format, digits, value);
    (void)uselocale(before);
    freelocale(plain);
    return 1;
}

int text_real(char out[TEXT_REAL], int digits, double value)
{
    return write_plain(out, "%.*g", digits, value);
}

int text_fixed(char out[TEXT_REAL], int decimals, double value)
{
    return write_plain(out, "%.*f", decimals, value);
}

struct text_shown text_show(struct span word)
{
    struct text_shown shown;
    const size_t most = sizeof shown.s - 4;
    const size_t n = word.n < most ? word.n : most;

    for (size_t i = 0; i < n; i++)
        shown.s[i] = isprint((unsigned char)word.at[i]) ? word.at[i] : '?';
    memcpy(shown.s + n, word.n > most ? "..." : "", word.n > most ? 4 : 1);
    return shown;
}
