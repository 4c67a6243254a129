/*
 * text.c - reads lines, words and numbers of a text in memory.
 *
 * strtod() depends on the locale of the program. So it converts only the numbers that exact
 * arithmetic in double cannot, with the decimal point of the locale put in.
 *
 * SPDX-License-Identifier: MIT
 */
#include "io/text.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"

enum { NUMBER_MAX = 255, POINT_MAX = 8 };

nb_status text_open(nb_context *ctx, const char *name, const void *bytes, size_t n,
                    const char *expected, struct text *text)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* byte order mark of UTF-8 */
    const char *nul = n ? memchr(bytes, 0, n) : NULL;

    if (nul)
        return fail(ctx, NB_ERR_FORMAT,
                    "%s: binary data (a NUL at byte %zu), expected text with %s; check "
                    "that it is the right file",
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

/* c is never NUL, which text_open() refuses. */
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

/* Converts n bytes that are known to be a number, with strtod(). */
static double convert(const char *s, size_t n)
{
    char copy[NUMBER_MAX + POINT_MAX];
    const char *point = localeconv()->decimal_point;
    const size_t length = strlen(point);
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        if (s[i] == '.' && length < POINT_MAX) {
            memcpy(copy + used, point, length);
            used += length;
        } else {
            copy[used++] = s[i];
        }
    }
    copy[used] = '\0';
    return strtod(copy, NULL);
}

/* The digits of a number before its exponent: mantissa x 10^scale. */
struct digits {
    uint64_t mantissa;
    int scale, exact, count;
};

static size_t scan_digits(struct span span, size_t i, struct digits *d)
{
    int point = 0;

    for (; i < span.n && i < NUMBER_MAX; i++) {
        const char c = span.at[i];

        if (c == '.' && !point) {
            point = 1;
        } else if (c >= '0' && c <= '9') {
            d->count++;
            if (d->mantissa > (UINT64_MAX - 9) / 10) {
                d->exact = 0;
            } else {
                d->mantissa = 10 * d->mantissa + (uint64_t)(c - '0');
                d->scale -= point;
            }
        } else {
            break;
        }
    }
    return i;
}

/* Reads an exponent that starts at i. Returns its end, or i if there is none. */
static size_t scan_exponent(struct span span, size_t i, int *exponent)
{
    size_t j = i;
    int sign = 1, value = 0;

    if (j >= span.n || (span.at[j] != 'e' && span.at[j] != 'E')) return i;
    j++;
    if (j < span.n && (span.at[j] == '+' || span.at[j] == '-'))
        sign = span.at[j++] == '-' ? -1 : 1;
    if (j >= span.n || span.at[j] < '0' || span.at[j] > '9') return i;
    for (; j < span.n && span.at[j] >= '0' && span.at[j] <= '9'; j++)
        if (value < 100000) value = 10 * value + (span.at[j] - '0');
    *exponent = sign * value;
    return j;
}

/* the powers of ten that a double holds exactly */
static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                               1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                               1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

size_t text_number_prefix(struct span span, double *value)
{
    struct digits d = {0, 0, 1, 0};
    size_t end = 0;
    int negative = 0, exponent = 0;

    if (span.n > 0 && (*span.at == '+' || *span.at == '-'))
        negative = span.at[end++] == '-';
    end = scan_digits(span, end, &d);
    if (d.count == 0) return 0;
    end = scan_exponent(span, end, &exponent);
    if (end > NUMBER_MAX - 1) return 0;
    exponent += d.scale;
    /* Both factors are exact, so the result is correctly rounded. */
    if (d.exact && d.mantissa <= (uint64_t)1 << 53 && exponent >= -22 && exponent <= 22) {
        const double m = (double)d.mantissa;
        const double magnitude = exponent < 0 ? m / power[-exponent] : m * power[exponent];

        *value = negative ? -magnitude : magnitude;
    } else {
        *value = convert(span.at, end);
    }
    return end;
}

static int is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

int text_plain_number(const char **at, const char *end, double *value)
{
    enum { DIGITS = 15 }; /* a double holds whole numbers of 15 digits exactly */
    const char *p = *at, *first, *point;
    int64_t mantissa = 0;
    ptrdiff_t digits, decimals;
    int negative = 0;

    if (p < end && (*p == '-' || *p == '+')) negative = *p++ == '-';
    for (first = p; p < end && is_digit(*p) && p - first < DIGITS; p++)
        mantissa = 10 * mantissa + (*p - '0');
    digits = p - first;
    decimals = 0;
    if (p < end && *p == '.') {
        point = p;
        for (p++; p < end && is_digit(*p) && p - first <= DIGITS; p++)
            mantissa = 10 * mantissa + (*p - '0');
        decimals = p - point - 1;
    }
    if (digits + decimals < 1) return 0;
    if (p < end && *p != ' ' && *p != '\t' && *p != '\r' && *p != '\n') return 0;
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r')) p++;
    /* Both numbers are exact, so the quotient is correctly rounded. */
    *value = decimals ? (double)mantissa / power[decimals] : (double)mantissa;
    if (negative) *value = -*value;
    *at = p;
    return 1;
}

int text_number(struct span word, double *value)
{
    double number;

    if (text_number_prefix(word, &number) != word.n || word.n == 0) return 0;
    if (!isfinite(number)) return 0;
    *value = number;
    return 1;
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
