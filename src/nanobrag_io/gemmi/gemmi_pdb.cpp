/*
 * gemmi_pdb.cpp - completes the atoms of a PDB file before gemmi reads them
 * (gemmi_records.h).
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/gemmi/gemmi_records.h"

namespace nanobrag {

namespace {

/* columns of an ATOM record that hold a number; `first` counts from 0 */
struct Field {
    size_t first, width;
    const char *meaning;
};

const Field coordinates[] = {{30, 8, "coordinate; expected a number in A"},
                             {38, 8, "coordinate; expected a number in A"},
                             {46, 8, "coordinate; expected a number in A"}};
const Field occupancy = {54, 6, "occupancy; expected a number from 0 to 1"};
const Field isotropic_b = {60, 6, "B; expected a number in A^2"};
enum { COORDINATES_END = 54, NUMBERS_END = 66, ELEMENT = 76 };

bool is_blank(const std::string &columns)
{
    return columns.find_first_not_of(" \t\r") == std::string::npos;
}

/* Returns true if the text is one number, with or without blanks around it. */
bool is_number(const std::string &columns)
{
    char *end = nullptr;

    (void)std::strtod(columns.c_str(), &end);
    return end != columns.c_str()
           && is_blank(columns.substr(static_cast<size_t>(end - columns.c_str())));
}

void check_field(const std::string &line, const Field &field, long number)
{
    const std::string columns = line.substr(field.first, field.width);

    if (!is_number(columns))
        refuse("line " + std::to_string(number) + ": '" + columns + "' is no "
               + field.meaning);
}

/* Writes `preset` into a blank field and returns 1. Otherwise checks that the field is a
 * number and returns 0. */
size_t complete_field(std::string *line, const Field &field, const char *preset,
                      long number)
{
    if (is_blank(line->substr(field.first, field.width))) {
        line->replace(field.first, field.width, preset);
        return 1;
    }
    check_field(*line, field, number);
    return 0;
}

bool has_element(const std::string &line)
{
    for (size_t i = ELEMENT; i < ELEMENT + 2 && i < line.size(); i++)
        if (std::isalpha(static_cast<unsigned char>(line[i]))) return true;
    return false;
}

/* Returns the name of a record in capitals. */
std::string name_of(const std::string &line)
{
    std::string name = line.substr(0, 6);

    for (char &c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return name;
}

bool is_atom(const std::string &name)
{
    return name.compare(0, 4, "ATOM") == 0 || name == "HETATM";
}

bool is_end(const std::string &name)
{
    return name.compare(0, 3, "END") == 0 && (name.size() == 3 || is_blank(name.substr(3)));
}

/* Fills in the blank fields of an atom and notes them in `lacks`. A line that is too short
 * for coordinates is left to gemmi, which refuses it. */
void complete_atom(std::string *line, long number, size_t lacks[GEMMI_NOTES])
{
    if (line->size() < COORDINATES_END) return;
    for (const Field &field : coordinates) check_field(*line, field, number);
    if (line->size() < NUMBERS_END) line->resize(NUMBERS_END, ' ');
    lacks[GEMMI_NO_OCCUPANCY] = complete_field(line, occupancy, "  1.00", number);
    lacks[GEMMI_NO_B] = complete_field(line, isotropic_b, " 50.00", number);
    lacks[GEMMI_NO_ELEMENT] = !has_element(*line);
}

static_assert(GEMMI_B_UNKNOWN == 50, "the B that complete_atom() writes");

} // namespace

std::string complete_pdb(const char *bytes, size_t n, gemmi_model *out)
{
    const char *const end = bytes + n;
    size_t lacks[GEMMI_NOTES] = {0};
    bool ended = false, first = true; /* the record END was read; the first model is not
                                         over */
    std::string text;
    long number = 0;

    text.reserve(n);
    for (const char *at = bytes; at < end;) {
        const char *const stop = std::find(at, end, '\n');
        std::string line(at, stop);
        const std::string name = name_of(line);

        number++;
        at = stop < end ? stop + 1 : end;
        if (ended) {
            out->noted[GEMMI_AFTER_END] += is_atom(name);
            continue;
        }
        if (!line.empty() && line.back() == '\r') line.pop_back();
        ended = is_end(name);
        first = first && name != "ENDMDL";
        if (is_atom(name)) {
            complete_atom(&line, number, lacks);
            for (size_t i = 0; first && i < GEMMI_NOTES; i++) out->noted[i] += lacks[i];
        } else if (name == "ANISOU" && first) {
            /* the atom before has this tensor, so its missing B does no harm */
            out->noted[GEMMI_NO_B] -= lacks[GEMMI_NO_B];
            lacks[GEMMI_NO_B] = 0;
        }
        text += line + '\n';
    }
    out->no_end = !ended;
    return text;
}

} // namespace nanobrag
