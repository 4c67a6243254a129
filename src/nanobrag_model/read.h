/*
 * read.h - the reader of models for bytes in memory, so that it can be tested and fuzzed
 * without files.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_STRUCTURE_READ_H
#define NB_STRUCTURE_READ_H

#include "nanobrag_io/file.h"

/* Parses PDB or mmCIF, expanded; `to` is nb_structure **. */
file_parser structure_parse;

#endif
