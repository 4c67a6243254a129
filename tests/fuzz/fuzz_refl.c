/*
 * fuzz_refl.c - fuzzes the reader of DIALS' reflections. SPDX-License-Identifier: MIT
 */
#include <nanobrag/reflections.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nb_context *ctx = fuzz_context();
    nb_reflections *table;
    const nb_status status = refl_parse(ctx, "input", data, size, &table);

    fuzz_check(ctx, status);
    fuzz_require((status == NB_OK) == (table != NULL));
    for (size_t i = 0; i < nb_reflections_columns(table); i++) {
        const nb_column c = nb_reflections_column(table, i);

        fuzz_require(c.name && nb_reflections_find(table, c.name, c.type) == c.data);
    }
    nb_reflections_free(table);
    return 0;
}
