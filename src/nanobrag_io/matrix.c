/*
 * matrix.c - reads orientation matrices: the first nine numbers of a text; the rest is
 * ignored.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "base/context.h"
#include "base/floats.h"
#include "nanobrag_io/file.h"
#include "nanobrag_io/parse.h"
#include "nanobrag_io/text.h"

enum { NUMBERS = 9 };

nb_status matrix_parse(nb_context *ctx, const char *name, const void *bytes, size_t n,
                       void *to)
{
    double *const matrix = to, numbers[NUMBERS];
    struct text text;
    struct span line, word;
    int count = 0;

    NB_TRY(text_open(ctx, name, bytes, n, "the nine numbers of a matrix", &text));
    while (count < NUMBERS && text_line(&text, &line)) {
        while (count < NUMBERS && text_word(&text, &line, &word)) {
            if (!text_number(word, numbers + count))
                return fail(ctx, NB_ERR_FORMAT,
                            "%s, line %ld: '%s' is no finite number, expected number %d of "
                            "the nine of a matrix; correct the line or begin it with #",
                            name, text.line, text_show(word).s, count + 1);
            count++;
        }
    }
    if (count < NUMBERS)
        return fail(ctx, NB_ERR_FORMAT,
                    "%s, line %ld: the file ends after %d number%s, expected the nine of a "
                    "matrix, row by row; add the rest",
                    name, text.line, count, count == 1 ? "" : "s");
    for (int i = 0; i < NUMBERS; i++) matrix[i] = numbers[i];
    return NB_OK;
}

nb_status nb_matrix_read(nb_context *ctx, const char *path, double matrix[9])
{
    STANDARD_FLOATS;
    static const struct file_format format = {"matrix", (size_t)1 << 20, NULL,
                                              matrix_parse};

    if (ctx && !matrix) return fail(ctx, NB_ERR_ARGUMENT, "matrix: matrix is NULL");
    return file_parse(ctx, path, &format, matrix);
}
