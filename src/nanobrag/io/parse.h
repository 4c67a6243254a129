/*
 * parse.h - the readers of <nanobrag/io.h> for bytes in memory, so that they can be tested
 * and fuzzed without files. `name` is the name of the file in messages.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_PARSE_H
#define NB_IO_PARSE_H

#include <nanobrag/io.h>

/* Each parses n bytes of a format; the caller frees `out` as after the reader. */
nb_status hkl_parse(nb_context *ctx, const char *name, const void *bytes, size_t n,
                    nb_hkl **out);
nb_status fdump_parse(nb_context *ctx, const char *name, const void *bytes, size_t n,
                      nb_hkl **out);
nb_status matrix_parse(nb_context *ctx, const char *name, const void *bytes, size_t n,
                       double matrix[9]);

/* Any run of separators separates two columns, as in nanoBragg: "1,,2" has two columns. */
nb_status table_parse(nb_context *ctx, const char *name, const void *bytes, size_t n,
                      int columns, nb_table **out);
nb_status smv_parse(nb_context *ctx, const char *name, const void *bytes, size_t n,
                    nb_smv **out);

#endif
