/*
 * read.h - parses models of atoms from bytes in memory, so that the parser can be tested
 * and fuzzed without files.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_STRUCTURE_READ_H
#define NB_STRUCTURE_READ_H

#include "nanobrag_io/file.h"

/* Parses PDB or mmCIF, not compressed; `to` is an nb_structure **. */
file_parser structure_parse;

#endif
