/*
 * fuzz_titled.c - fuzzes the reader of tables with a title. SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nb_context *ctx = fuzz_context();
    nb_table *table;
    const nb_status status = table_parse_titled(ctx, "input", data, size, &table);
    const size_t n = nb_table_rows(table) * (size_t)nb_table_columns(table);
    long last = 1;

    fuzz_check(ctx, status);
    fuzz_require((status == NB_OK) == (n > 0));
    fuzz_require((status == NB_OK) == (nb_table_title(table) != NULL));
    for (size_t i = 0; i < n; i++) fuzz_require(isfinite(nb_table_data(table)[i]));
    for (size_t i = 0; i < nb_table_rows(table); i++) {
        fuzz_require(nb_table_line(table, i) > last);
        last = nb_table_line(table, i);
    }
    if (status == NB_OK) fuzz_require(strlen(nb_table_title(table)) > 0);
    nb_table_free(table);
    return 0;
}
