/*
 * gemmi_reflections.cpp - reads reflections and their space group from MTZ and mmCIF by
 * gemmi, and writes MTZ. gemmi trusts the sizes in an MTZ header, so they are first
 * compared with the size of the file. Every function of gemmi.h catches all exceptions.
 *
 * SPDX-License-Identifier: MIT
 */
#define GEMMI_WRITE_IMPLEMENTATION
// writers
#define USE_STD_SNPRINTF
#include <cstdint>
#include <cstring>
#include <gemmi/cif.hpp>
#include <gemmi/mtz.hpp>
#include <gemmi/numb.hpp>
#include <locale.h>

#include "nanobrag_io/gemmi/gemmi_columns.h"
#include "nanobrag_io/gemmi/gemmi_records.h"

using namespace nanobrag;

namespace {

/* ---- reflections ---- */

int whole_index(double x)
{
    if (!(std::fabs(x) <= 100000) || x != std::floor(x))
        refuse("a Miller index is no whole number up to 100000; the file is damaged");
    return static_cast<int>(x);
}

void start_rows(size_t n, gemmi_reflections *out)
{
    out->hkl = allocate<int>(3 * n);
    out->f = allocate<double>(2 * n);
    out->n = n;
}

/* Checks numbers of the header that gemmi uses as sizes. `offset` is the header's place in
 * the file, in words of 4 bytes, counted from 1. */
void check_mtz_sizes(const char *bytes, size_t n, int64_t offset)
{
    const size_t words = n / 4;
    bool has_size = false, has_end = false;

    if (offset < 21 || static_cast<uint64_t>(offset) > words)
        refuse(
            "the header of the MTZ lies outside of the file; the file is cut or damaged");
    for (size_t at = 4 * static_cast<size_t>(offset - 1); at + 80 <= n; at += 80) {
        const std::string line(bytes + at, 80);
        const char *numbers = gemmi::Mtz::skip_word(line.c_str());
        long long value[3] = {0, 0, 0};

        has_end = line.compare(0, 3, "END") == 0;
        if (has_end) break;
        if (line.compare(0, 4, "NCOL") == 0) {
            for (long long &one : value) {
                char *end;
                one = std::strtoll(numbers, &end, 10);
                numbers = end;
            }
            if (value[2] > 0)
                refuse("the MTZ is unmerged (it has batches); merge it first");
            has_size = value[0] >= 3 && value[1] >= 1 && value[2] == 0 && value[0] < 10000
                       && static_cast<uint64_t>(value[1])
                              <= (words - 20) / static_cast<uint64_t>(value[0]);
            if (!has_size)
                refuse("the MTZ has no reflections, or fewer than its header says");
        }
        if (line.compare(0, 4, "SYMI") == 0 || line.compare(0, 4, "NDIF") == 0) {
            const long long count = std::strtoll(numbers, nullptr, 10);
            if (count < 0 || count > 1000)
                refuse("a size in the header of the MTZ is impossible");
        }
    }
    if (!has_size || !has_end)
        refuse("the header of the MTZ has no NCOL or no END; the file is cut or damaged");
}

gemmi::Mtz parse_mtz(const char *bytes, size_t n)
{
    gemmi::Mtz mtz;
    gemmi::MemoryStream stream(bytes, n);

    mtz.read_first_bytes(stream);
    check_mtz_sizes(bytes, n, mtz.header_offset);
    mtz.read_main_headers(stream);
    for (size_t i = 0; i < 3; i++)
        if (mtz.columns[i].type != 'H')
            refuse("the first three columns of the MTZ are not h, k, l");
    if (mtz.column_with_label("M/ISYM"))
        refuse("the MTZ is unmerged (it has a column M/ISYM); merge it first");
    mtz.setup_spacegroup();
    mtz.read_raw_data(stream);
    return mtz;
}

void read_mtz(const char *bytes, size_t n, const char *label, gemmi_reflections *out)
{
    const gemmi::Mtz mtz = parse_mtz(bytes, n);
    Columns columns;

    for (const gemmi::Mtz::Column &column : mtz.columns)
        columns.push_back({column.label, column.type});
    const Choice choice = choose(columns, label);
    const std::string labels[2] = {choice.plus.label, choice.minus.label};
    const gemmi::Mtz::Column *value[2], *sigma[2];
    const auto number = [&mtz](const gemmi::Mtz::Column *column, size_t i) {
        return !column || (*column)[i] == mtz.valm ? double(NAN) : (*column)[i];
    };

    for (size_t k = 0; k < 2; k++) {
        const Column *its = find_sigma(columns, labels[k]);

        value[k] = &mtz.get_column_with_label(labels[k]);
        sigma[k] = its ? mtz.column_with_label(its->label) : nullptr;
    }
    set_choice(choice, out);
    set_crystal(mtz.get_cell(value[0]->dataset_id), mtz.spacegroup, mtz.spacegroup_name,
                &out->crystal);
    start_rows(static_cast<size_t>(mtz.nreflections), out);
    for (size_t i = 0; i < out->n; i++) {
        Row row;

        for (size_t k = 0; k < 2; k++) {
            row.value[k] = number(value[k], i);
            row.sigma[k] = number(sigma[k], i);
        }
        for (size_t k = 0; k < 3; k++) out->hkl[3 * i + k] = whole_index(mtz.columns[k][i]);
        set_row(i, row, out);
    }
}

/* Returns the MTZ type for the label of an mmCIF column. 'R' stands for an unknown label,
 * which the user may name. */
char type_of(const std::string &label)
{
    static const struct {
        const char *label;
        char type;
    } known[] = {{"F_meas_au", AMPLITUDE},
                 {"F_meas", AMPLITUDE},
                 {"F_calc", AMPLITUDE},
                 {"F_calc_au", AMPLITUDE},
                 {"pdbx_F_calc_with_solvent", AMPLITUDE},
                 {"pdbx_F_plus", AMPLITUDE_OF_MATE},
                 {"pdbx_F_minus", AMPLITUDE_OF_MATE},
                 {"F_squared_meas", INTENSITY},
                 {"F_squared_calc", INTENSITY},
                 {"intensity_meas", INTENSITY},
                 {"intensity_calc", INTENSITY},
                 {"pdbx_I_plus", INTENSITY_OF_MATE},
                 {"pdbx_I_minus", INTENSITY_OF_MATE}};
    static const char *const none[] = {"index_", "phase", "status", "fom", "_id"};

    if (label.find("sigma") != std::string::npos) return SIGMA;
    for (const auto &one : known)
        if (label == one.label) return one.type;
    for (const char *part : none)
        if (label.find(part) != std::string::npos) return OTHER;
    return 'R';
}

gemmi::UnitCell cell_of(const gemmi::cif::Block &block)
{
    static const char *const items[] = {"length_a",    "length_b",   "length_c",
                                        "angle_alpha", "angle_beta", "angle_gamma"};
    double number[6] = {0};
    gemmi::UnitCell cell;

    for (size_t i = 0; i < 6; i++) {
        const std::string *value = block.find_value(std::string("_cell.") + items[i]);

        number[i] = value ? gemmi::cif::as_number(*value) : 0;
        if (!(number[i] > 0)) return cell;
    }
    cell.set(number[0], number[1], number[2], number[3], number[4], number[5]);
    return cell;
}

/* Sets cell and space group from the block of the reflections, or from the first other
 * block that has them. */
void set_crystal_of(gemmi::cif::Document *document, gemmi::cif::Block *block,
                    gemmi_reflections *out)
{
    gemmi::UnitCell cell = cell_of(*block);
    const std::string *name = find_group_name(block);

    for (gemmi::cif::Block &other : document->blocks) {
        if (!cell.is_crystal()) cell = cell_of(other);
        if (!name) name = find_group_name(&other);
    }
    const std::string group = name ? gemmi::cif::as_string(*name) : "";

    set_crystal(cell, gemmi::find_spacegroup_by_name(group, cell.alpha, cell.gamma), group,
                &out->crystal);
}

/* Returns the number of a row in a column; NaN if it is missing or there is no such
 * column. */
double number_at(const gemmi::cif::Loop &loop, size_t row, int column)
{
    return column < 0 ? NAN
                      : gemmi::cif::as_number(loop.val(row, static_cast<size_t>(column)));
}

/* Returns the number like number_at(), but refuses a word that is neither a number nor a
 * sign for a missing one. */
double measured_at(const gemmi::cif::Loop &loop, size_t row, int column)
{
    if (column < 0) return NAN;
    const std::string &value = loop.val(row, static_cast<size_t>(column));

    if (!gemmi::cif::is_null(value) && !gemmi::cif::is_numb(value))
        refuse(loop.tags[static_cast<size_t>(column)] + " of row " + std::to_string(row + 1)
               + " is '" + value.substr(0, 20) + "', expected a number");
    return gemmi::cif::as_number(value);
}

int column_of(const gemmi::cif::Loop &loop, const std::string &label)
{
    return loop.find_tag("_refln." + label);
}

/* Reads the first block that has reflections, and counts further ones. */
void read_sf_cif(const char *bytes, size_t n, const char *label, gemmi_reflections *out)
{
    check_words(bytes, n);
    gemmi::cif::Document document = gemmi::cif::read_memory(bytes, n, "mmCIF");
    gemmi::cif::Block *block = nullptr;

    for (gemmi::cif::Block &one : document.blocks) {
        if (!one.find_loop("_refln.index_h").get_loop()) continue;
        if (block)
            out->blocks++;
        else
            block = &one;
    }
    if (!block)
        refuse("no reflections (_refln.index_h); this mmCIF may be a model, which -pdb "
               "reads");
    const gemmi::cif::Loop &loop = *block->find_loop("_refln.index_h").get_loop();
    Columns columns;

    for (const std::string &tag : loop.tags) {
        const std::string one = tag.substr(std::strlen("_refln."));

        columns.push_back({one, type_of(one)});
    }
    for (const char *item : {"index_k", "index_l"})
        if (!find_column(columns, item)) refuse(std::string("no _refln.") + item);
    const Choice choice = choose(columns, label);
    const std::string labels[2] = {choice.plus.label, choice.minus.label};
    const int index[3] = {column_of(loop, "index_h"), column_of(loop, "index_k"),
                          column_of(loop, "index_l")};
    int value[2], sigma[2];

    for (size_t k = 0; k < 2; k++) {
        const Column *its = find_sigma(columns, labels[k]);

        value[k] = column_of(loop, labels[k]);
        sigma[k] = its ? column_of(loop, its->label) : -1;
    }
    set_choice(choice, out);
    set_crystal_of(&document, block, out);
    start_rows(loop.length(), out);
    for (size_t i = 0; i < out->n; i++) {
        Row row;

        for (size_t k = 0; k < 2; k++) {
            row.value[k] = measured_at(loop, i, value[k]);
            row.sigma[k] = number_at(loop, i, sigma[k]);
        }
        for (size_t k = 0; k < 3; k++)
            out->hkl[3 * i + k] = whole_index(number_at(loop, i, index[k]));
        set_row(i, row, out);
    }
}

/* While an object of this class exists, numbers are printed with a decimal point in any
 * locale. */
class PointLocale {
    locale_t point = newlocale(LC_NUMERIC_MASK, "C", nullptr), before = uselocale(point);

  public:
    PointLocale() = default;
    PointLocale(const PointLocale &) = delete;
    PointLocale &operator=(const PointLocale &) = delete;
    ~PointLocale()
    {
        uselocale(before);
        if (point) freelocale(point);
    }
};

} // namespace

/* ---- the functions of gemmi.h ---- */

nb_status gemmi_reflections_read(const char *bytes, size_t n, const char *label,
                                 gemmi_reflections *out, char why[GEMMI_WHY])
{
    std::memset(out, 0, sizeof *out);
    const nb_status status = guarded(why, [&] {
        skip_mark(&bytes, &n);
        if (n >= 4 && std::memcmp(bytes, "MTZ ", 4) == 0)
            read_mtz(bytes, n, label, out);
        else if (is_cif(bytes, bytes + n))
            read_sf_cif(bytes, n, label, out);
        else
            refuse("neither MTZ nor mmCIF; check that it is the right file");
    });

    if (status != NB_OK) gemmi_reflections_free(out);
    return status;
}

void gemmi_reflections_free(gemmi_reflections *reflections)
{
    std::free(reflections->hkl);
    std::free(reflections->f);
    reflections->hkl = nullptr;
    reflections->f = nullptr;
    reflections->n = 0;
}

nb_status gemmi_space_group(const char *name, const double cell[6], gemmi_crystal *out,
                            char why[GEMMI_WHY])
{
    const nb_status status = guarded(why, [&] {
        const gemmi::UnitCell of(cell[0], cell[1], cell[2], cell[3], cell[4], cell[5]);

        set_crystal(of, gemmi::find_spacegroup_by_name(name, of.alpha, of.gamma), name,
                    out);
    });

    return status == NB_ERR_FORMAT ? NB_ERR_ARGUMENT : status;
}

/* Returns a symbol with single blanks between its parts (also for _) and none at its
 * ends. */
static std::string without_blanks(const std::string &symbol)
{
    std::string to;

    for (const char c : symbol)
        if (c != ' ' && c != '_')
            to += c;
        else if (!to.empty() && to.back() != ' ')
            to += ' ';
    if (!to.empty() && to.back() == ' ') to.pop_back();
    return to;
}

/* Returns true if the text is a change of basis such as x,y,-x+z, with numbers of at most
 * two digits. */
static bool is_triplet(const std::string &text)
{
    int digits = 0;

    for (const char c : text) {
        digits = c >= '0' && c <= '9' ? digits + 1 : 0;
        if (digits > 2 || !std::strchr("xyz+-,/0123456789 ", c)) return false;
    }
    return text.size() < 60;
}

/* Finds the space group of a Hall symbol: a symbol of gemmi's table, which a change of
 * basis in brackets may follow. gemmi's own reader of Hall symbols is not used, because it
 * does not check their spelling enough. */
static const gemmi::SpaceGroup *find_hall(const std::string &symbol)
{
    const size_t open = symbol.find('('), close = symbol.find(')');
    const std::string tabulated = without_blanks(symbol.substr(0, open));
    const gemmi::SpaceGroup *found = nullptr;

    for (const gemmi::SpaceGroup &group : gemmi::spacegroup_tables::main)
        if (!found && tabulated == group.hall) found = &group;
    if (!found || open == std::string::npos) return found;
    if (close == std::string::npos || close < open) return nullptr;

    const std::string triplet = symbol.substr(open + 1, close - open - 1);
    gemmi::GroupOps ops = found->operations();

    if (!is_triplet(triplet)) return nullptr;
    ops.change_basis_forward(gemmi::parse_triplet(triplet));
    return gemmi::find_spacegroup_by_ops(ops);
}

static const gemmi::SpaceGroup *find_group(gemmi_naming naming, const char *name)
{
    if (naming == GEMMI_HERMANN_MAUGUIN) return gemmi::find_spacegroup_by_name(name);
    if (naming == GEMMI_HALL) return find_hall(name);

    const std::string digits = name;

    if (digits.empty() || digits.size() > 5) return nullptr;
    for (const char c : digits)
        if (c < '0' || c > '9') return nullptr;
    return gemmi::find_spacegroup_by_number(std::stoi(digits));
}

nb_status gemmi_symbols(gemmi_naming naming, const char *name,
                        char hermann_mauguin[GEMMI_NAME], char hall[GEMMI_NAME])
{
    char why[GEMMI_WHY];

    hermann_mauguin[0] = hall[0] = '\0';
    const nb_status status = guarded(why, [&] {
        const gemmi::SpaceGroup *group = find_group(naming, name);

        if (!group) refuse("unknown space group");
        copy_line(group->xhm(), hermann_mauguin, GEMMI_NAME);
        copy_line(group->hall, hall, GEMMI_NAME);
    });

    return status == NB_ERR_FORMAT ? NB_ERR_ARGUMENT : status;
}

int gemmi_system(const char *space_group)
{
    const gemmi::SpaceGroup *group = gemmi::find_spacegroup_by_name(space_group);

    // in the order of gemmi::CrystalSystem
    static const int systems[] = {NB_SYSTEM_TRICLINIC,    NB_SYSTEM_MONOCLINIC,
                                  NB_SYSTEM_ORTHORHOMBIC, NB_SYSTEM_TETRAGONAL,
                                  NB_SYSTEM_HEXAGONAL,    NB_SYSTEM_HEXAGONAL,
                                  NB_SYSTEM_CUBIC};

    if (!group) return NB_SYSTEM_NONE;
    const int system = systems[static_cast<int>(group->crystal_system())];

    if (system == NB_SYSTEM_MONOCLINIC && !std::strchr(group->qualifier, 'b'))
        return NB_SYSTEM_NONE;
    return system == NB_SYSTEM_HEXAGONAL && group->ext == 'R' ? NB_SYSTEM_RHOMBOHEDRAL
                                                              : system;
}

int gemmi_in_asymmetric_unit(const gemmi_crystal *crystal, const int hkl[3])
{
    const gemmi::SpaceGroup *group =
        gemmi::find_spacegroup_by_name(crystal->space_group, crystal->cell[3],
                                       crystal->cell[5]);

    return group && gemmi::ReciprocalAsu(group).is_in({{hkl[0], hkl[1], hkl[2]}});
}

nb_status gemmi_mtz_make(const gemmi_mtz *from, char **bytes, size_t *n,
                         char why[GEMMI_WHY])
{
    *bytes = nullptr;
    *n = 0;
    return guarded(why, [&] {
        gemmi::Mtz mtz;
        std::string text;
        const size_t width = 3 + static_cast<size_t>(from->ncolumn);

        mtz.title = from->title;
        mtz.cell.set(from->cell[0], from->cell[1], from->cell[2], from->cell[3],
                     from->cell[4], from->cell[5]);
        mtz.spacegroup =
            gemmi::find_spacegroup_by_name(from->space_group, from->cell[3], from->cell[5]);
        mtz.add_base();
        mtz.add_dataset("nanobrag").wavelength = from->wavelength;
        for (int i = 0; i < from->ncolumn; i++)
            mtz.add_column(from->label[i], from->type[i], 1, -1, false);
        mtz.sort_order = {{1, 2, 3, 0, 0}};
        mtz.data.reserve(from->n * width);
        for (size_t i = 0; i < from->n; i++) {
            const float *value = from->value + i * static_cast<size_t>(from->ncolumn);

            for (size_t k = 0; k < 3; k++)
                mtz.data.push_back(static_cast<float>(from->hkl[3 * i + k]));
            mtz.data.insert(mtz.data.end(), value, value + from->ncolumn);
        }
        mtz.nreflections = static_cast<int>(from->n);
        const PointLocale locale;

        mtz.write_to_string(text);
        *bytes = allocate<char>(text.size());
        std::memcpy(*bytes, text.data(), text.size());
        *n = text.size();
    });
}
