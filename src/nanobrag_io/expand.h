/*
 * expand.h - reads a file that may be compressed by gzip or bzip2.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_EXPAND_H
#define NB_IO_EXPAND_H

#include <stddef.h>

#include <nanobrag/context.h>

struct expand_limits {
    size_t most; /* most bytes that any file may expand to */
    /* bytes that even a small file may expand to, within `most`; a larger file may expand
     * to 50 times its size */
    size_t always;
};

/* Expands n bytes, to be released with free(); bytes of another format are left alone, and
 * *out is NULL. Returns NB_ERR_FORMAT, NB_ERR_MEMORY, and without the library that expands
 * them NB_ERR_UNSUPPORTED. */
nb_status expand_bytes(nb_context *ctx, const char *name, const void *bytes, size_t n,
                       struct expand_limits limits, unsigned char **out, size_t *nout);

/* file_read() of a text or table, without a header, expanded. */
nb_status expand_read(nb_context *ctx, const char *path, size_t limit,
                      unsigned char **bytes, size_t *n);

#endif
