/*
 * table.c - reads tables of numbers: lists of sources, tables of amorphous scattering.
 *
 * nanoBragg reads zeros after a missing last newline, a CR or a comment. Here the end of
 * the text ends a line, a CR is a blank, and comments are skipped.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/floats.h"
#include "io/file.h"
#include "io/parse.h"
#include "io/text.h"

static const size_t size_limit = (size_t)1 << 28;

struct nb_table {
    size_t rows;
    double *data;
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

    if (table && rows <= SIZE_MAX / sizeof *table->data / (size_t)columns)
        table->data = malloc(rows * (size_t)columns * sizeof *table->data);
    if (table && table->data) {
        table->rows = rows;
        return table;
    }
    free(table);
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
                    "%s: no rows, expected columns of numbers; check that it is the right "
                    "file",
                    name);
    table = allocate(rows, columns);
    if (!table) return fail_memory(ctx, name);
    text = start;
    for (size_t i = 0; i < rows && text_line(&text, &line); i++) {
        const nb_status status =
            read_row(ctx, &text, line, columns, table->data + i * (size_t)columns);

        if (status != NB_OK) {
            nb_table_free(table);
            return status;
        }
    }
    *out = table;
    return NB_OK;
}

/* Of a long file the first bytes have to begin a table; the parser judges a short one. */
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

nb_status nb_table_read(nb_context *ctx, const char *path, int columns, nb_table **out)
{
    STANDARD_FLOATS;
    unsigned char *bytes;
    size_t n;
    nb_status status;

    if (!ctx || !out) return NB_ERR_ARGUMENT;
    *out = NULL;
    if (!path) return fail(ctx, NB_ERR_ARGUMENT, "table: path is NULL");
    if (columns < 1)
        return fail(ctx, NB_ERR_ARGUMENT, "table: %d columns, expected at least 1",
                    columns);
    NB_TRY(file_read(ctx, path, size_limit, table_header, &bytes, &n));
    status = table_parse(ctx, path, bytes, n, columns, out);
    free(bytes);
    return status;
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
    free(table);
}
