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

/* kinds of column, with the letters that MTZ uses */
enum Type : char {
    AMPLITUDE = 'F',
    AMPLITUDE_OF_MATE = 'G',
    INTENSITY = 'J',
    INTENSITY_OF_MATE = 'K',
    SIGMA = 'Q', /* standard deviation of an amplitude or of the mean of intensities */
    OTHER = ' '
};

struct Column {
    std::string label;
    char type;
};

using Columns = std::vector<Column>;

/* The columns of hkl and of its Friedel mate. If one column serves both, plus and minus are
 * the same. */
struct Choice {
    Column plus, minus;
    std::string calculated; /* a column of calculated F that was passed over, or empty */
};

/* Returns the column with a label; NULL if there is none. */
const Column *find_column(const Columns &columns, const std::string &label);

/* Chooses the columns for F: by a label, where the label of one Friedel mate selects both;
 * without a label the only column of amplitudes, or of intensities if only these are
 * measured. Refuses a column that has neither amplitudes nor intensities. */
Choice choose(const Columns &columns, const char *label);

/* Writes to *out which columns were chosen. */
void set_choice(const Choice &choice, gemmi_reflections *out);

/* Returns the column of standard deviations that directly follows a column; NULL if there
 * is none. */
const Column *find_sigma(const Columns &columns, const std::string &label);

/* The numbers of one row: value and standard deviation, each of hkl and of its Friedel
 * mate. NaN stands for a missing number. */
struct Row {
    double value[2], sigma[2];
};

/* Sets F of reflection i from its row, and counts negative values and sigmas of 0. */
void set_row(size_t i, const Row &row, gemmi_reflections *out);

} // namespace nanobrag

#endif
