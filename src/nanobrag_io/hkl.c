/*
 * hkl.c - reads text files of reflections. A line is h k l F; or, as nanoBragg reads by
 * fscanf(), each four numbers are a reflection, however lines are broken.
 *
 * nanoBragg stops silently at the first group that it cannot read. Here that is an error,
 * except for text after the last reflection, which is ignored with a warning.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/context.h"
#include "base/floats.h"
#include "base/log.h"
#include "nanobrag_io/file.h"
#include "nanobrag_io/parse.h"
#include "nanobrag_io/text.h"
#include "scene/reflections/hkl_table.h"

enum { GROUP = 4, SHORTEST = 8 }; /* numbers of a reflection; bytes of "0 0 0 0\n" */

static const char expected[] = "h k l F on each line";

struct list {
    int *hkl; /* n x 3 */
    double *f;
    size_t n;
    int groups; /* 1: each four numbers are a reflection, as in nanoBragg */
    long further; /* first line with more columns than h k l F; 0: none */
    /* the numbers so far of a reflection that continues on the next line, and its first
     * line */
    struct span pending[GROUP];
    int npending;
    long pending_line;
};

static int count_words(const struct text *text, struct span line)
{
    struct span word;
    int n = 0;

    while (text_word(text, &line, &word)) n++;
    return n;
}

static nb_status read_index(nb_context *ctx, const struct text *text, struct span word,
                            int *index)
{
    double value;

    if (!text_number(word, &value))
        return fail(ctx, NB_ERR_FORMAT,
                    "%s, line %ld: '%s' is no number, expected h k l F; correct the line "
                    "or begin it with #",
                    text->name, text->line, text_show(word).s);
    if (value != floor(value))
        return fail(ctx, NB_ERR_FORMAT,
                    "%s, line %ld: index %s, expected a whole number (h k l F); correct "
                    "the line or begin it with #",
                    text->name, text->line, text_show(word).s);
    if (fabs(value) > HKL_INDEX_MAX)
        return fail(ctx, NB_ERR_FORMAT,
                    "%s, line %ld: index %s is beyond +-%d; correct the line or begin it "
                    "with #",
                    text->name, text->line, text_show(word).s, (int)HKL_INDEX_MAX);
    *index = (int)value;
    return NB_OK;
}

static nb_status fail_columns(nb_context *ctx, const struct text *text, long line,
                              int columns)
{
    return fail(ctx, NB_ERR_FORMAT,
                "%s, line %ld: the line has %d column%s, expected h k l F; %s", text->name,
                line, columns, columns == 1 ? "" : "s",
                columns > GROUP ? "keep the first four columns"
                                : "complete the line, separate the numbers by blanks, or "
                                  "begin it with #");
}

/* Returns 1 if no word of a line begins with a number. */
static int is_words(const struct text *text, struct span line)
{
    struct span word;
    double value;

    while (text_word(text, &line, &word))
        if (text_number_prefix(word, &value) > 0) return 0;
    return 1;
}

/* Returns 1 if the fourth word of a header is a name for an intensity. */
static int names_intensity(const struct text *text, struct span line)
{
    static const char *const names[] = {"i",     "iobs",  "i_obs",
                                        "i-obs", "imean", "intensity"};
    struct span word = {0};

    for (int i = 0; i < GROUP; i++)
        if (!text_word(text, &line, &word)) return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (word.n == strlen(names[i]) && strncasecmp(word.at, names[i], word.n) == 0)
            return 1;
    return 0;
}

/* Skips a header, a first line of words. Refuses it if it says that the fourth column is an
 * intensity. */
static nb_status read_header(nb_context *ctx, const struct text *text, struct span line)
{
    if (names_intensity(text, line))
        return fail(ctx, NB_ERR_FORMAT,
                    "%s, line %ld: the header names an intensity, expected an amplitude F; "
                    "take the square root, or remove the header if it is F",
                    text->name, text->line);
    log_line(ctx, NB_LOG_NOTE, "hkl", "%s, line %ld: a header of words is skipped",
             text->name, text->line);
    return NB_OK;
}

static nb_status fail_words(nb_context *ctx, const struct text *text, struct span line)
{
    struct span word = {0};

    (void)text_word(text, &line, &word);
    return fail(ctx, NB_ERR_FORMAT,
                "%s, line %ld: words ('%s') instead of h k l F; begin the line with # if "
                "it "
                "is a header",
                text->name, text->line, text_show(word).s);
}

static nb_status read_group(nb_context *ctx, const struct text *text,
                            const struct span word[GROUP], struct list *list)
{
    for (int axis = 0; axis < 3; axis++)
        NB_TRY(read_index(ctx, text, word[axis], list->hkl + 3 * list->n + axis));
    if (!text_number(word[3], list->f + list->n))
        return fail(ctx, NB_ERR_FORMAT,
                    "%s, line %ld: F is '%s', expected a finite number; remove "
                    "reflections without an amplitude",
                    text->name, text->line, text_show(word[3]).s);
    list->n++;
    return NB_OK;
}

/* Reads a line with fewer than four words, which begins or continues a reflection. A
 * reflection must end at the end of a line. */
static nb_status read_part(nb_context *ctx, const struct text *text, struct span line,
                           int columns, struct list *list)
{
    if (list->npending == 0) list->pending_line = text->line;
    if (list->npending + columns > GROUP)
        return fail_columns(ctx, text, list->pending_line, list->npending);
    for (int i = 0; i < columns; i++)
        (void)text_word(text, &line, &list->pending[list->npending++]);
    if (list->npending < GROUP) return NB_OK;
    list->npending = 0;
    return read_group(ctx, text, list->pending, list);
}

/* Reads the reflections of a line as nanoBragg does: each four numbers are one. */
static nb_status read_groups(nb_context *ctx, const struct text *text, struct span line,
                             struct list *list)
{
    const int columns = count_words(text, line);

    if (list->npending > 0 || columns < GROUP)
        return read_part(ctx, text, line, columns, list);
    if (columns % GROUP != 0) return fail_columns(ctx, text, text->line, columns);
    for (int group = 0; group < columns / GROUP; group++) {
        struct span word[GROUP];

        for (int i = 0; i < GROUP; i++) (void)text_word(text, &line, &word[i]);
        NB_TRY(read_group(ctx, text, word, list));
    }
    return NB_OK;
}

/* Reads h k l F from a line. Further columns are ignored, and the first line with any is
 * noted; a comment is no column. */
static nb_status read_line(nb_context *ctx, const struct text *text, struct span line,
                           struct list *list)
{
    struct span word[GROUP], next;

    if (list->groups) return read_groups(ctx, text, line, list);
    if (is_words(text, line)) return fail_words(ctx, text, line);
    for (int i = 0; i < GROUP; i++)
        if (!text_word(text, &line, &word[i]))
            return fail_columns(ctx, text, text->line, i);
    if (!list->further && text_word(text, &line, &next) && *next.at != '#')
        list->further = text->line;
    return read_group(ctx, text, word, list);
}

/* Reads the next line if it is h k l F in plain numbers, as most lines are, and returns 1.
 * Otherwise reads nothing and returns 0, and the slower read_line() takes the line. */
static int read_plain_line(struct text *text, struct list *list)
{
    const char *at = text->rest.at;
    const char *const end = at + text->rest.n;
    double value[GROUP];

    while (at < end && *at == ' ') at++;
    for (int i = 0; i < GROUP; i++)
        if (!text_plain_number(&at, end, value + i)) return 0;
    if (at < end && *at++ != '\n') return 0;
    for (int axis = 0; axis < 3; axis++) {
        if (!(fabs(value[axis]) <= HKL_INDEX_MAX)) return 0;
        list->hkl[3 * list->n + (size_t)axis] = (int)value[axis];
        if (value[axis] != (int)value[axis]) return 0;
    }
    list->f[list->n++] = value[3];
    text->rest.n = (size_t)(end - at);
    text->rest.at = at;
    text->line++;
    return 1;
}

/* Returns 1 if this line and all later lines begin with a word that is no number. */
static int is_trailing_text(struct text text, struct span line)
{
    do {
        struct span word;
        double value;

        if (text_word(&text, &line, &word) && text_number(word, &value)) return 0;
    } while (text_line(&text, &line));
    return 1;
}

/* Reads all reflections of a text. */
static nb_status read_list(nb_context *ctx, struct text *text, struct list *list)
{
    struct span line;
    nb_status status = NB_OK;
    int first = 1; /* 1: no line read but comments */

    while (status == NB_OK) {
        if (list->npending == 0 && read_plain_line(text, list)) continue;
        if (!text_line(text, &line)) break;
        if (list->n > 0 && is_trailing_text(*text, line)) {
            log_line(ctx, NB_LOG_WARNING, "hkl",
                     "%s, line %ld: the text after the last reflection is left out",
                     text->name, text->line);
            break;
        }
        if (first && list->n == 0 && !list->groups && is_words(text, line))
            status = read_header(ctx, text, line);
        else
            status = read_line(ctx, text, line, list);
        first = 0;
    }
    if (status == NB_OK && list->npending > 0)
        return fail_columns(ctx, text, list->pending_line, list->npending);
    if (status == NB_OK && list->further)
        log_line(ctx, NB_LOG_NOTE, "hkl",
                 "%s, line %ld: columns after h k l F are ignored, here and below",
                 text->name, list->further);
    return status;
}

/* Reports F that a later line replaces, and negative F, whose sign has no effect on an
 * image. */
static void tell(nb_context *ctx, const char *name, const struct list *list,
                 const nb_hkl *made)
{
    size_t replaced = 0, negative = 0;

    for (size_t i = 0; i < list->n; i++) {
        const int *hkl = list->hkl + 3 * i;

        replaced += *hkl_box_at(made, hkl[0], hkl[1], hkl[2]) != list->f[i];
        negative += list->f[i] < 0;
    }
    if (replaced > 0)
        log_line(ctx, NB_LOG_WARNING, "hkl",
                 "%s: reflections that are listed again with another F: %zu; the last F "
                 "counts",
                 name, replaced);
    if (negative > 0)
        log_line(ctx, NB_LOG_NOTE, "hkl",
                 "%s: reflections with negative F: %zu; the image uses F squared", name,
                 negative);
}

static nb_status parse_list(nb_context *ctx, const char *name, const struct span *bytes,
                            int groups, nb_hkl **out)
{
    const size_t capacity = bytes->n / SHORTEST + 1;
    struct list list = {.groups = groups};
    struct text text;
    nb_status status;

    *out = NULL;
    NB_TRY(text_open(ctx, name, bytes->at, bytes->n, expected, &text));
    list.hkl = huge_pages_alloc(capacity * 3 * sizeof *list.hkl);
    list.f = huge_pages_alloc(capacity * sizeof *list.f);
    if (!list.hkl || !list.f) {
        free(list.hkl);
        free(list.f);
        return fail_memory(ctx, name);
    }
    status = read_list(ctx, &text, &list);
    if (status == NB_OK && list.n == 0)
        status = fail(ctx, NB_ERR_FORMAT,
                      "%s: the file has no reflections, expected h k l F on each line; "
                      "check that it is the right file",
                      name);
    if (status == NB_OK) {
        status = nb_hkl_create(ctx, list.n, list.hkl, list.f, out);
        if (status != NB_OK) status = file_fail(ctx, status, name);
    }
    if (status == NB_OK && !groups) tell(ctx, name, &list, *out);
    free(list.hkl);
    free(list.f);
    return status;
}

nb_status hkl_parse(nb_context *ctx, const char *name, const void *bytes, size_t n,
                    void *to)
{
    return parse_list(ctx, name, &(struct span){bytes, n}, 0, to);
}

nb_status hkl_parse_groups(nb_context *ctx, const char *name, const void *bytes, size_t n,
                           void *to)
{
    return parse_list(ctx, name, &(struct span){bytes, n}, 1, to);
}

/* Checks that a long file begins like a list of reflections. Short files are left to the
 * parser. */
static nb_status hkl_header(nb_context *ctx, const char *name, const void *bytes, size_t n,
                            size_t *wanted)
{
    struct text text;
    struct span line;

    *wanted = SIZE_MAX;
    if (n < FILE_HEAD) return NB_OK;
    NB_TRY(text_open(ctx, name, bytes, n, expected, &text));
    for (int i = 0; i < 2; i++)
        if (!text_line(&text, &line) || !is_words(&text, line)) return NB_OK;
    return fail_words(ctx, &text, line);
}

nb_status nb_hkl_read(nb_context *ctx, const char *path, nb_hkl **out)
{
    STANDARD_FLOATS;
    static const struct file_format format = {"reflections", (size_t)1 << 30, hkl_header,
                                              hkl_parse};

    if (out) *out = NULL;
    return file_parse(ctx, path, &format, out);
}

nb_status nb_hkl_read_nanobragg(nb_context *ctx, const char *path, nb_hkl **out)
{
    STANDARD_FLOATS;
    static const struct file_format format = {"reflections", (size_t)1 << 30, hkl_header,
                                              hkl_parse_groups};

    if (out) *out = NULL;
    return file_parse(ctx, path, &format, out);
}
