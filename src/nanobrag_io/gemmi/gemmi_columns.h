/*
 * gemmi_columns.h - chooses the columns of a file of reflections that give F.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_GEMMI_GEMMI_COLUMNS_H
#define NB_IO_GEMMI_GEMMI_COLUMNS_H

#include <string>
#include <vector>

#include "nanobrag_io/gemmi/gemmi_shared.h"

namespace nanobrag {

/* The contents of a column: a type of MTZ. */
enum Type : char {
    AMPLITUDE = 'F',
    AMPLITUDE_OF_MATE = 'G',
    INTENSITY = 'J',
    INTENSITY_OF_MATE = 'K',
    SIGMA = 'Q', /* standard deviation of an amplitude or a mean intensity */
    OTHER = ' '
};

struct Column {
    std::string label;
    char type;
};

using Columns = std::vector<Column>;

/* The columns of hkl and of its Friedel mate; one column if both share it. */
struct Choice {
    Column plus, minus;
    std::string calculated; /* the column of calculated F that was not taken, or empty */
};

/* Returns the column with a label; NULL: there is none. */
const Column *find_column(const Columns &columns, const std::string &label);

/* Chooses the columns, by a label or, without one, by rule. The label of either mate's
 * column selects both. Refuses a column that has neither amplitudes nor intensities. */
Choice choose(const Columns &columns, const char *label);

/* States the choice in the result. */
void set_choice(const Choice &choice, gemmi_reflections *out);

/* Returns the column of standard deviations that follows a column; NULL: there is none. */
const Column *find_sigma(const Columns &columns, const std::string &label);

/* The numbers of a row: a value and its standard deviation, of hkl and of its mate. NaN
 * where they are missing. */
struct Row {
    double value[2], sigma[2];
};

/* Sets F of row i. */
void set_row(size_t i, const Row &row, gemmi_reflections *out);

} // namespace nanobrag

#endif
