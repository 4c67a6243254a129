/*
 * fuzz.h - what the fuzz targets share: a context, and the promises of a parser.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_FUZZ_H
#define NB_TESTS_FUZZ_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/context.h>

#include "nanobrag_io/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* one context for the whole run */
static inline nb_context *fuzz_context(void)
{
    static nb_context *ctx;

    if (!ctx && nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK) abort();
    return ctx;
}

static inline void fuzz_require(int condition)
{
    if (!condition) abort();
}

/* a refusal says why, in one line that begins with the name of the file */
static inline void fuzz_check(nb_context *ctx, nb_status status)
{
    const char *message = nb_context_message(ctx);

    if (status == NB_OK) return;
    fuzz_require(status == NB_ERR_FORMAT || status == NB_ERR_MEMORY);
    fuzz_require(status == NB_ERR_MEMORY || strncmp(message, "input", 5) == 0);
    fuzz_require(!strchr(message, '\n'));
}

#endif
