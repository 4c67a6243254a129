/*
 * fuzz_table.c - fuzzes the reader of tables; the first byte chooses the columns.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nb_context *ctx = fuzz_context();
    const int columns = size > 0 ? 1 + data[0] % 8 : 1;
    nb_table *table;
    const nb_status status = table_parse(ctx, "input", data, size, columns, &table);
    const size_t n = nb_table_rows(table) * (size_t)columns;

    fuzz_check(ctx, status);
    fuzz_require((status == NB_OK) == (n > 0));
    for (size_t i = 0; i < n; i++) fuzz_require(!isinf(nb_table_data(table)[i]));
    nb_table_free(table);
    return 0;
}
