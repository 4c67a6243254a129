/*
 * gzip.h - reads a file that may be compressed by gzip.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_GZIP_H
#define NB_IO_GZIP_H

#include <stddef.h>

#include <nanobrag/context.h>

/* Expands n bytes of gzip, up to `limit`, to be released with free(); bytes of another
 * format are left alone, and *out is NULL. Returns NB_ERR_FORMAT, NB_ERR_MEMORY, and
 * without zlib NB_ERR_UNSUPPORTED. */
nb_status gzip_expand(nb_context *ctx, const char *name, const unsigned char *bytes,
                      size_t n, size_t limit, unsigned char **out, size_t *nout);

/* file_read() without a header, expanded. */
nb_status gzip_read(nb_context *ctx, const char *path, size_t limit, unsigned char **bytes,
                    size_t *n);

#endif
