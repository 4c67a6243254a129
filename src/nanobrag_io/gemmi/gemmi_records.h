/*
 * gemmi_records.h - completes the text of a model of atoms before gemmi reads it. gemmi
 * would silently take its own defaults for items that are missing or no numbers.
 * gemmi_model.noted counts what was filled in.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_GEMMI_GEMMI_RECORDS_H
#define NB_IO_GEMMI_GEMMI_RECORDS_H

#include <gemmi/cifdoc.hpp>
#include <string>

#include "nanobrag_io/gemmi/gemmi_shared.h"

namespace nanobrag {

/* Returns the text of a PDB file up to END, with an occupancy and a B for each atom.
 * Refuses coordinates, occupancies and B that are no numbers. Sets out->no_end and
 * out->noted. */
std::string complete_pdb(const char *bytes, size_t n, gemmi_model *out);

/* Adds items to an mmCIF that gemmi needs and that follow from other items or have a
 * default. Turns displacement tensors that are given as B or with the atoms into tensors U
 * of their own loop. Refuses atoms without other items that are needed, and words in place
 * of numbers. */
void complete_mmcif(gemmi::cif::Block *block, gemmi_model *out);

/* Returns the name of the space group from the first item that has one; NULL if none
 * has. */
const std::string *find_group_name(gemmi::cif::Block *block);

} // namespace nanobrag

#endif
