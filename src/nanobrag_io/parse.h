/*
 * parse.h - the readers of <nanobrag/io.h> for bytes in memory, so that they can be tested
 * and fuzzed without files. `name` is the name of the file for messages.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_PARSE_H
#define NB_IO_PARSE_H

#include <nanobrag/io.h>

#include "nanobrag_io/file.h"

/* Each parses n bytes of a format. `to` is the argument `out` of the reader in io.h, whose
 * type is nb_hkl ** for the first three, then nb_smv **, double[9] and nb_reflections **.
 * The caller frees the result as after that reader. */
file_parser hkl_parse, hkl_parse_groups, fdump_parse, smv_parse, matrix_parse, refl_parse;

/* Parses a table. Any number of separators stand between two columns: "1,,2" has two, as in
 * nanoBragg. */
nb_status table_parse(nb_context *ctx, const char *name, const void *bytes, size_t n,
                      int columns, nb_table **out);

/* Parses a table whose first line is a title. */
nb_status table_parse_titled(nb_context *ctx, const char *name, const void *bytes, size_t n,
                             nb_table **out);
#endif
