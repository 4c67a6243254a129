/*
 * fuzz_matrix.c - fuzzes the reader of orientation matrices.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nb_context *ctx = fuzz_context();
    double matrix[9];
    const nb_status status = matrix_parse(ctx, "input", data, size, matrix);

    fuzz_check(ctx, status);
    for (int i = 0; i < 9; i++) fuzz_require(status != NB_OK || isfinite(matrix[i]));
    return 0;
}
