/*
 * result_memory.c - allocates and frees the memory of a result.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "nanobrag_fit/fit.h"

void result_free(struct fit_result_memory *r)
{
    if (!r) return;
    free(r->error);
    free(r->sampling);
    free(r->covariance);
    free(r->directions);
    free(r->text);
    free(r->line);
    free(r->correlated);
    free(r->shot);
    free(r);
}

struct fit_result_memory *result_make(const nb_fit *fit)
{
    const size_t n = fit->layout.n;
    const int is_small = n <= FIT_DENSE_MOST;
    const size_t most = n < DIRECTIONS_MOST ? n : DIRECTIONS_MOST;
    struct fit_result_memory *r = calloc(1, sizeof *r);

    if (!r) return NULL;
    r->error = calloc(n, sizeof *r->error);
    r->sampling = calloc(n, sizeof *r->sampling);
    r->covariance = is_small ? calloc(n * n, sizeof *r->covariance) : NULL;
    r->directions = calloc(most * n, sizeof *r->directions);
    r->text = calloc(most, DIRECTION_TEXT);
    r->line = calloc(most, sizeof *r->line);
    r->shot = calloc(fit->layout.nshot, sizeof *r->shot);
    if (r->error && r->sampling && (r->covariance || !is_small) && r->directions && r->text
        && r->line && r->shot)
        return r;
    result_free(r);
    return NULL;
}
