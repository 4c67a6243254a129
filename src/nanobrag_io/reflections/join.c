/*
 * join.c - nb_reflections_join(): several tables as one.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/reflections.h>

#include "base/context.h"

/* Bytes of a row of each type. */
static const size_t bytes_of[] = {
    [NB_COLUMN_BOOL] = 1,
    [NB_COLUMN_INT] = sizeof(int32_t),
    [NB_COLUMN_SIZE] = sizeof(uint64_t),
    [NB_COLUMN_DOUBLE] = sizeof(double),
    [NB_COLUMN_VEC2] = 2 * sizeof(double),
    [NB_COLUMN_VEC3] = 3 * sizeof(double),
    [NB_COLUMN_MAT3] = 9 * sizeof(double),
    [NB_COLUMN_INT6] = 6 * sizeof(int32_t),
    [NB_COLUMN_MILLER] = 3 * sizeof(int32_t),
};

/* Joins a column, if all tables that have rows have it. */
static nb_status join_column(nb_context *ctx, size_t n, nb_reflections *const *tables,
                             const nb_column *column, nb_reflections *to)
{
    const size_t size = bytes_of[column->type];
    char *const all = malloc(nb_reflections_rows(to) * size + 1);
    size_t at = 0;
    nb_status status = NB_OK;

    if (!all) return fail_memory(ctx, "reflections");
    for (size_t i = 0; i < n; i++) {
        const size_t rows = nb_reflections_rows(tables[i]);
        const void *const data = nb_reflections_find(tables[i], column->name, column->type);

        if (rows == 0) continue;
        if (!data) break;
        memcpy(all + at * size, data, rows * size);
        at += rows;
    }
    if (at == nb_reflections_rows(to))
        status = nb_reflections_set(ctx, to, column->name, column->type, all);
    free(all);
    return status;
}

nb_status nb_reflections_join(nb_context *ctx, size_t n, nb_reflections *const *tables,
                              nb_reflections **out)
{
    size_t rows = 0, first = 0;
    nb_status status = NB_OK;

    if (!ctx) return NB_ERR_ARGUMENT;
    if (!out || (!tables && n > 0))
        return fail(ctx, NB_ERR_ARGUMENT, "reflections: %s is NULL",
                    out ? "tables" : "out");
    for (size_t i = n; i-- > 0;) {
        rows += nb_reflections_rows(tables[i]);
        if (nb_reflections_rows(tables[i]) > 0) first = i;
    }
    NB_TRY(nb_reflections_create(ctx, rows, out));
    for (size_t k = 0; n > 0 && k < nb_reflections_columns(tables[first]); k++) {
        const nb_column column = nb_reflections_column(tables[first], k);

        if (status == NB_OK && column.type != NB_COLUMN_OTHER)
            status = join_column(ctx, n, tables, &column, *out);
    }
    if (status == NB_OK) return NB_OK;
    nb_reflections_free(*out);
    *out = NULL;
    return status;
}
