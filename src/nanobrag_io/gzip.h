/*
 * gzip.h - reads a file that may be compressed by gzip.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_GZIP_H
#define NB_IO_GZIP_H

#include <stddef.h>

#include <nanobrag/context.h>

/* Expands n bytes of gzip to at most `limit` bytes; the caller frees *out. If the bytes are
 * of another format, *out is NULL. Returns NB_ERR_FORMAT, NB_ERR_MEMORY, and
 * NB_ERR_UNSUPPORTED in a build without zlib. */
nb_status gzip_expand(nb_context *ctx, const char *name, const unsigned char *bytes,
                      size_t n, size_t limit, unsigned char **out, size_t *nout);

/* Reads a file like file_read() without a header, and expands it if it is gzip. */
nb_status gzip_read(nb_context *ctx, const char *path, size_t limit, unsigned char **bytes,
                    size_t *n);

#endif
