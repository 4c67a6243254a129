/*
 * gemmi_records.h - completes models of atoms before gemmi reads them, because gemmi would
 * use numbers of its own for items that are missing or not numbers. gemmi_model.noted
 * counts the replaced items.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_GEMMI_GEMMI_RECORDS_H
#define NB_IO_GEMMI_GEMMI_RECORDS_H

#include <gemmi/cifdoc.hpp>
#include <string>

#include "nanobrag_io/gemmi/gemmi_shared.h"

namespace nanobrag {

/* Returns the text of a PDB file up to END, with occupancy and B for each atom. Refuses
 * coordinates, occupancies and B that are no numbers. Sets no_end of the model. */
std::string complete_pdb(const char *bytes, size_t n, gemmi_model *out);

/* Adds to an mmCIF the items that gemmi needs, if they follow from other items or can be
 * left out. Turns tensors given as B, or with the atoms, into tensors of U. Refuses a loop
 * of atoms that lacks any other item, and words in place of numbers. */
void complete_mmcif(gemmi::cif::Block *block, gemmi_model *out);

/* The name of the space group, by any of the items that may hold it; NULL: none does. */
const std::string *find_group_name(gemmi::cif::Block *block);

} // namespace nanobrag

#endif
