/*
 * table.c - reads tables of numbers, such as lists of sources.
 *
 * nanoBragg reads zeros where a last newline is missing, at a CR and at a comment. Here the
 * end of the text ends a line, a CR counts as a blank, and comments are skipped.
 *
 * SPDX-License-Identifier: MIT
 */
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/floats.h"
#include "nanobrag_io/file.h"
#include "nanobrag_io/parse.h"
#include "nanobrag_io/text.h"

static const size_t size_limit = (size_t)1 << 28;

struct nb_table {
    size_t rows;
    int columns;
    double *data; /* (rows x columns) */
    long *line; /* (rows) number of the line in the file */
    char *title; /* the first line, or NULL */
};

static int is_nan_word(struct span word)
{
    return word.n == 3 && (word.at[0] == 'n' || word.at[0] == 'N')
           && (word.at[1] == 'a' || word.at[1] == 'A')
           && (word.at[2] == 'n' || word.at[2] == 'N');
}

static nb_status read_row(nb_context *ctx, const struct text *text, struct span line,
                          int columns, double *row)
{
    struct span word;

    for (int i = 0; i < columns; i++) {
        row[i] = NAN;
        if (!text_word(text, &line, &word) || is_nan_word(word)) continue;
        if (!text_number(word, row + i))
            return fail(ctx, NB_ERR_FORMAT,
                        "%s, line %ld: '%s' is no finite number, expected column %d of up "
                        "to %d; correct it, write nan, or begin the line with #",
                        text->name, text->line, text_show(word).s, i + 1, columns);
    }
    return NB_OK;
}

static nb_table *allocate(size_t rows, int columns)
{
    nb_table *table = calloc(1, sizeof *table);

    if (!table) return NULL;
    table->rows = rows;
    table->columns = columns;
    if (rows <= SIZE_MAX / sizeof *table->data / (size_t)columns)
        table->data = malloc(rows * (size_t)columns * sizeof *table->data);
    table->line = malloc(rows * sizeof *table->line);
    if (table->data && table->line) return table;
    nb_table_free(table);
    return NULL;
}

static nb_status open_table(nb_context *ctx, const char *name, const void *bytes, size_t n,
                            struct text *text)
{
    NB_TRY(text_open(ctx, name, bytes, n, "columns of numbers", text));
    text->separators = ",;:!";
    return NB_OK;
}

nb_status table_parse(nb_context *ctx, const char *name, const void *bytes, size_t n,
                      int columns, nb_table **out)
{
    struct text text, start;
    struct span line;
    nb_table *table;
    size_t rows = 0;

    *out = NULL;
    NB_TRY(open_table(ctx, name, bytes, n, &start));
    text = start;
    while (text_line(&text, &line)) rows++;
    if (rows == 0)
        return fail(ctx, NB_ERR_FORMAT,
                    "%s: the file has no rows, expected columns of numbers; check that it "
                    "is the right file",
                    name);
    table = allocate(rows, columns);
    if (!table) return fail_memory(ctx, name);
    text = start;
    for (size_t i = 0; i < rows && text_line(&text, &line); i++) {
        const nb_status status =
            read_row(ctx, &text, line, columns, table->data + i * (size_t)columns);

        table->line[i] = text.line;
        if (status != NB_OK) {
            nb_table_free(table);
            return status;
        }
    }
    *out = table;
    return NB_OK;
}

/* ---- tables with a title ---- */

/* Returns the number of words in a line. */
static int count_words(const struct text *text, struct span line)
{
    struct span word;
    int n = 0;

    while (n < INT_MAX && text_word(text, &line, &word)) n++;
    return n;
}

/* Reads a row that must have exactly one number for each column. */
static nb_status read_full_row(nb_context *ctx, const struct text *text, struct span line,
                               int columns, double *row)
{
    const int n = count_words(text, line);
    struct span word;

    if (n != columns)
        return fail(ctx, NB_ERR_FORMAT,
                    "%s, line %ld: the row has %d number%s, expected %d as in the first "
                    "row",
                    text->name, text->line, n, n == 1 ? "" : "s", columns);
    for (int i = 0; i < columns && text_word(text, &line, &word); i++)
        if (!text_number(word, row + i))
            return fail(ctx, NB_ERR_FORMAT,
                        "%s, line %ld: '%s' is no finite number, expected column %d of %d",
                        text->name, text->line, text_show(word).s, i + 1, columns);
    return NB_OK;
}

/* Returns a copy of a line without white space around it, which the caller frees; NULL: no
 * memory. */
static char *copy_title(struct span line)
{
    static const char white[] = " \t\r\n\f\v";
    char *title;

    while (line.n > 0 && strchr(white, *line.at)) line.at++, line.n--;
    while (line.n > 0 && strchr(white, line.at[line.n - 1])) line.n--;
    title = malloc(line.n + 1);
    if (!title) return NULL;
    memcpy(title, line.at, line.n);
    title[line.n] = '\0';
    return title;
}

static nb_status read_rows(nb_context *ctx, struct text text, nb_table *table)
{
    struct span line;

    for (size_t i = 0; i < table->rows && text_line(&text, &line); i++) {
        table->line[i] = text.line;
        NB_TRY(read_full_row(ctx, &text, line, table->columns,
                             table->data + i * (size_t)table->columns));
    }
    return NB_OK;
}

nb_status table_parse_titled(nb_context *ctx, const char *name, const void *bytes, size_t n,
                             nb_table **out)
{
    struct text text, start;
    struct span title, line;
    nb_table *table;
    nb_status status;
    size_t rows = 0;
    int columns = 0;

    *out = NULL;
    NB_TRY(open_table(ctx, name, bytes, n, &text));
    if (!text_line(&text, &title))
        return fail(ctx, NB_ERR_FORMAT,
                    "%s: the file has no line, expected a title and rows of numbers; check "
                    "that it is the right file",
                    name);
    start = text;
    while (text_line(&text, &line))
        if (rows++ == 0) columns = count_words(&text, line);
    if (rows == 0 || columns == 0)
        return fail(ctx, NB_ERR_FORMAT,
                    "%s: no row of numbers follows the first line, the title", name);
    table = allocate(rows, columns);
    if (table) table->title = copy_title(title);
    if (!table || !table->title) {
        nb_table_free(table);
        return fail_memory(ctx, name);
    }
    status = read_rows(ctx, start, table);
    if (status != NB_OK) {
        nb_table_free(table);
        return status;
    }
    *out = table;
    return NB_OK;
}

/* Checks that a long file begins like a table. Short files are left to the parser. */
static nb_status table_header(nb_context *ctx, const char *name, const void *bytes,
                              size_t n, size_t *wanted)
{
    struct text text;
    struct span line;
    double first;

    *wanted = SIZE_MAX;
    if (n < FILE_HEAD) return NB_OK;
    NB_TRY(open_table(ctx, name, bytes, n, &text));
    return text_line(&text, &line) ? read_row(ctx, &text, line, 1, &first) : NB_OK;
}

/* Checks only that a file is text, because its first line may be anything. */
static nb_status titled_header(nb_context *ctx, const char *name, const void *bytes,
                               size_t n, size_t *wanted)
{
    struct text text;

    *wanted = SIZE_MAX;
    return open_table(ctx, name, bytes, n, &text);
}

/* Reads a table of `columns` columns; columns = 0: a table whose first line is a title. */
static nb_status read_file(nb_context *ctx, const char *path, int columns, nb_table **out)
{
    unsigned char *bytes;
    size_t n;
    nb_status status;

    if (!path) return fail(ctx, NB_ERR_ARGUMENT, "table: path is NULL");
    NB_TRY(file_read(ctx, path, size_limit, columns > 0 ? table_header : titled_header,
                     &bytes, &n));
    status = columns > 0 ? table_parse(ctx, path, bytes, n, columns, out)
                         : table_parse_titled(ctx, path, bytes, n, out);
    free(bytes);
    return status;
}

nb_status nb_table_read(nb_context *ctx, const char *path, int columns, nb_table **out)
{
    STANDARD_FLOATS;
    if (!ctx || !out) return NB_ERR_ARGUMENT;
    *out = NULL;
    if (columns < 1)
        return fail(ctx, NB_ERR_ARGUMENT, "table: %d columns, expected at least 1",
                    columns);
    return read_file(ctx, path, columns, out);
}

nb_status nb_table_read_titled(nb_context *ctx, const char *path, nb_table **out)
{
    STANDARD_FLOATS;
    if (!ctx || !out) return NB_ERR_ARGUMENT;
    *out = NULL;
    return read_file(ctx, path, 0, out);
}

const char *nb_table_title(const nb_table *table)
{
    return table ? table->title : NULL;
}

int nb_table_columns(const nb_table *table)
{
    return table ? table->columns : 0;
}

long nb_table_line(const nb_table *table, size_t i)
{
    return table && i < table->rows ? table->line[i] : 0;
}

size_t nb_table_rows(const nb_table *table)
{
    return table ? table->rows : 0;
}

const double *nb_table_data(const nb_table *table)
{
    return table ? table->data : NULL;
}

void nb_table_free(nb_table *table)
{
    if (!table) return;
    free(table->data);
    free(table->line);
    free(table->title);
    free(table);
}
