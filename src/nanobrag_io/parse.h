/*
 * parse.h - the readers of <nanobrag/io.h> for bytes in memory, so that they can be tested
 * and fuzzed without files. `name` is the name of the file in messages.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_PARSE_H
#define NB_IO_PARSE_H

#include <nanobrag/io.h>

#include "nanobrag_io/file.h"

/* Each parses n bytes of a format; the caller frees the result as after the reader. `to` is
 * the reader's argument `out`: nb_hkl ** for the first three, nb_smv **, a matrix of
 * double[9], and nb_reflections **. */
file_parser hkl_parse, hkl_parse_groups, fdump_parse, smv_parse, matrix_parse, refl_parse;

/* Any run of separators separates two columns, as in nanoBragg: "1,,2" has two columns. */
nb_status table_parse(nb_context *ctx, const char *name, const void *bytes, size_t n,
                      int columns, nb_table **out);

/* The same of a table whose first line is a title. */
nb_status table_parse_titled(nb_context *ctx, const char *name, const void *bytes, size_t n,
                             nb_table **out);
#endif
