/*
 * gemmi_columns.cpp - chooses the columns of a file of reflections that give F.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/gemmi/gemmi_columns.h"

namespace nanobrag {

const Column *find_column(const Columns &columns, const std::string &label)
{
    for (const Column &column : columns)
        if (column.label == label) return &column;
    return nullptr;
}

namespace {

bool is_of_mate(char type)
{
    return type == AMPLITUDE_OF_MATE || type == INTENSITY_OF_MATE;
}

bool is_intensity(char type)
{
    return type == INTENSITY || type == INTENSITY_OF_MATE;
}

/* Returns the column of the mate of F(+), Fplus and the like; NULL if there is none. */
const Column *mate_of(const Columns &columns, const Column &plus)
{
    static const char *const pairs[][2] = {{"plus", "minus"},
                                           {"PLUS", "MINUS"},
                                           {"Plus", "Minus"},
                                           {"+", "-"}};

    for (const auto &pair : pairs) {
        const size_t at = plus.label.rfind(pair[0]);

        if (!is_of_mate(plus.type) || at == std::string::npos) continue;
        const Column *mate =
            find_column(columns, plus.label.substr(0, at) + pair[1]
                                     + plus.label.substr(at + std::strlen(pair[0])));

        if (mate && mate->type == plus.type) return mate;
    }
    return nullptr;
}

/* Returns true if a column is of -h -k -l and the file has the column of h k l as well. */
bool is_minus(const Columns &columns, const Column &minus)
{
    for (const Column &column : columns)
        if (mate_of(columns, column) == &minus) return true;
    return false;
}

bool is_calculated(const std::string &label)
{
    std::string small;

    for (const char c : label)
        small += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return small.compare(0, 2, "fc") == 0 || small.find("calc") != std::string::npos
           || small.find("model") != std::string::npos;
}

std::string list_labels(const Columns &columns)
{
    std::string all;

    for (const Column &column : columns)
        if (all.size() < 300) all += (all.empty() ? "" : " ") + column.label;
    return all;
}

/* which columns to look for, by their labels */
enum Origin { ANY, MEASURED, CALCULATED };

/* Returns the columns of intensities or of amplitudes of the given origin. Of the columns
 * of two Friedel mates only the first is returned. */
Columns columns_of(const Columns &columns, bool intensity, Origin origin)
{
    Columns found;

    for (const Column &column : columns) {
        const Origin its = is_calculated(column.label) ? CALCULATED : MEASURED;

        if (is_intensity(column.type) == intensity
            && (intensity || column.type == AMPLITUDE || is_of_mate(column.type))
            && (origin == ANY || origin == its) && !is_minus(columns, column))
            found.push_back(column);
    }
    return found;
}

/* Chooses a column if the user names none: amplitudes first, but intensities if these are
 * measured and all amplitudes calculated. Fails if several columns of that kind exist,
 * because then the user has to choose. */
Choice choose_alone(const Columns &columns)
{
    const Columns measured = columns_of(columns, true, MEASURED);
    Columns meant = columns_of(columns, false, ANY);
    Choice choice;

    if (!measured.empty() && columns_of(columns, false, MEASURED).empty()) {
        if (!meant.empty()) choice.calculated = meant[0].label;
        meant = measured;
    }
    if (meant.empty()) meant = columns_of(columns, true, ANY);
    if (meant.empty())
        refuse("no column of amplitudes or intensities (type F, G, J or K); there are "
               + list_labels(columns));
    if (meant.size() > 1)
        refuse(std::string("several columns of ")
               + (is_intensity(meant[0].type) ? "intensities: " : "amplitudes: ")
               + list_labels(meant)
               + "; name one behind the file, as FILE:" + meant[0].label);
    choice.plus = meant[0];
    return choice;
}

} // namespace

Choice choose(const Columns &columns, const char *label)
{
    Choice choice;

    if (label && *label) {
        const Column *named = find_column(columns, label);

        if (!named)
            refuse("no column " + std::string(label) + "; there are "
                   + list_labels(columns));
        choice.plus = *named;
        for (const Column &column : columns)
            if (mate_of(columns, column) == named) choice.plus = column;
    } else {
        choice = choose_alone(columns);
    }
    if (!std::strchr("FGJKER", choice.plus.type))
        refuse("column " + choice.plus.label + " has type " + choice.plus.type
               + ", which is no amplitude (F or G) and no intensity (J or K)");
    const Column *mate = mate_of(columns, choice.plus);

    choice.minus = mate ? *mate : choice.plus;
    return choice;
}

void set_choice(const Choice &choice, gemmi_reflections *out)
{
    copy_line(choice.plus.label, out->column, sizeof out->column);
    copy_line(choice.calculated, out->calculated, sizeof out->calculated);
    out->squares = is_intensity(choice.plus.type);
    out->apart = choice.minus.label != choice.plus.label;
    out->mateless = is_of_mate(choice.plus.type) && !out->apart;
}

const Column *find_sigma(const Columns &columns, const std::string &label)
{
    for (size_t i = 0; i + 1 < columns.size(); i++)
        if (columns[i].label == label)
            return std::strchr("QLM", columns[i + 1].type) ? &columns[i + 1] : nullptr;
    return nullptr;
}

void set_row(size_t i, const Row &row, gemmi_reflections *out)
{
    for (size_t k = 0; k < 2; k++) {
        const double value = std::isfinite(row.value[k]) ? row.value[k] : NAN;
        const bool counts = !std::isnan(value) && (k == 0 || out->apart);

        out->f[2 * i + k] = out->squares ? std::sqrt(std::fmax(value, 0)) : value;
        if (std::isnan(value)) out->f[2 * i + k] = NAN;
        if (counts && value < 0) out->negative++;
        if (counts && row.sigma[k] <= 0) out->unmeasured++;
    }
}

} // namespace nanobrag
