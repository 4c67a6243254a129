/*
 * gemmi_mmcif.cpp - completes the atoms of an mmCIF before gemmi reads them
 * (gemmi_records.h).
 *
 * SPDX-License-Identifier: MIT
 */
#include <gemmi/numb.hpp>
#include <unordered_set>

#include "nanobrag_io/gemmi/gemmi_records.h"

namespace nanobrag {

namespace {

using gemmi::cif::Block;
using gemmi::cif::is_null;
using gemmi::cif::Loop;
using gemmi::cif::Table;

const double B_PER_U = 8 * 3.14159265358979323846 * 3.14159265358979323846;

enum { DIGITS = 9 }; /* significant digits; gemmi's float keeps fewer */

/* the item in which gemmi looks for the space group */
const char group_name[] = "_symmetry.space_group_name_H-M";

/* ---- the atoms ---- */

/* Returns the loop of atoms; NULL if there are no atoms. If a single atom is written
 * without a loop, makes one of it. */
Loop *find_atoms(Block *block)
{
    static const char prefix[] = "_atom_site.";
    Table table = block->find_mmcif_category(prefix);
    std::vector<std::string> tags, values;

    if (table.loop_item) return &table.loop_item->loop;
    for (int place : table.positions) {
        const auto &pair = block->items[static_cast<size_t>(place)].pair;

        tags.push_back(pair[0].substr(sizeof prefix - 1));
        values.push_back(pair[1]);
    }
    if (tags.empty()) return nullptr;
    Loop &loop = block->init_mmcif_loop(prefix, tags);

    loop.values = values;
    return &loop;
}

/* Returns the number of the column of an item; -1 if there is none. */
int column_of(const Loop &loop, const std::string &item)
{
    return loop.find_tag("_atom_site." + item);
}

/* Adds a column for an item, unless it is there. Its values are a copy of column `copied`
 * if that exists, or else `text`, or the number of the row if `text` is null. */
void add_column(Loop *loop, const char *item, const char *copied, const char *text)
{
    const int from = copied ? column_of(*loop, copied) : -1;
    const size_t width = loop->width(), rows = loop->length();
    std::vector<std::string> values;

    if (column_of(*loop, item) >= 0) return;
    values.reserve((width + 1) * rows);
    for (size_t row = 0; row < rows; row++) {
        for (size_t k = 0; k < width; k++)
            values.push_back(std::move(loop->values[row * width + k]));
        values.push_back(from >= 0
                             ? values[values.size() - width + static_cast<size_t>(from)]
                         : text ? text
                                : std::to_string(row + 1));
    }
    loop->tags.push_back(std::string("_atom_site.") + item);
    loop->values.swap(values);
}

void add_columns(Loop *loop)
{
    static const char *const needed[] = {"Cartn_x", "Cartn_y", "Cartn_z", "type_symbol"};
    static const struct {
        const char *item, *copied, *text;
    } added[] = {
        {"id", nullptr, nullptr}, /* the number of the row */
        {"label_alt_id", nullptr, "."},
        {"label_asym_id", "auth_asym_id", "A"},
        {"auth_seq_id", "label_seq_id", "1"},
        {"label_comp_id", "auth_comp_id", "UNL"},
        {"label_atom_id", "auth_atom_id", "X"},
        {"occupancy", nullptr, "?"},
        {"B_iso_or_equiv", nullptr, "?"},
    };

    for (const char *item : needed)
        if (column_of(*loop, item) < 0)
            refuse(std::string("the atoms have no _atom_site.") + item
                   + ", which is needed");
    for (const auto &one : added) add_column(loop, one.item, one.copied, one.text);
}

/* Refuses a value that is neither missing nor a number. */
void check_number(const std::string &value, const std::string &id, const char *item)
{
    if (!is_null(value) && !gemmi::cif::is_numb(value))
        refuse("_atom_site." + std::string(item) + " of atom " + id.substr(0, 20) + " is '"
               + value.substr(0, 20) + "', expected a number");
}

/* Fills in missing values of each atom: an occupancy of 1, and B from U or else
 * GEMMI_B_UNKNOWN. */
void complete_rows(Loop *loop, const std::unordered_set<std::string> &tensors,
                   gemmi_model *out)
{
    const size_t width = loop->width(), rows = loop->length();
    const int model = column_of(*loop, "pdbx_PDB_model_num");
    const int u_iso = column_of(*loop, "U_iso_or_equiv");
    const auto id_at = static_cast<size_t>(column_of(*loop, "id"));
    const auto occupancy_at = static_cast<size_t>(column_of(*loop, "occupancy"));
    const auto b_at = static_cast<size_t>(column_of(*loop, "B_iso_or_equiv"));

    for (size_t row = 0; row < rows; row++) {
        std::string *const value = &loop->values[row * width];
        const std::string &id = value[id_at];
        const bool first = model < 0 || value[model] == loop->values[model];
        std::string &occupancy = value[occupancy_at], &b = value[b_at];

        check_number(occupancy, id, "occupancy");
        check_number(b, id, "B_iso_or_equiv");
        if (is_null(b) && u_iso >= 0 && !is_null(value[u_iso])) {
            check_number(value[u_iso], id, "U_iso_or_equiv");
            b = text_of(B_PER_U * gemmi::cif::as_number(value[u_iso]), DIGITS);
        }
        if (is_null(b)) {
            b = std::to_string(GEMMI_B_UNKNOWN);
            out->noted[GEMMI_NO_B] += first && tensors.count(id) == 0;
        }
        if (is_null(occupancy)) {
            occupancy = "1";
            out->noted[GEMMI_NO_OCCUPANCY] += first;
        }
    }
}

/* ---- tensors ---- */

/* Returns the items of a tensor: the id of the atom, then the six elements. */
std::vector<std::string> tensor_items(const std::string &of)
{
    std::vector<std::string> items = {"id"};

    for (const char *place : {"[1][1]", "[2][2]", "[3][3]", "[1][2]", "[1][3]", "[2][3]"})
        items.push_back(of + place);
    return items;
}

/* Appends the tensors of a table to `rows`, as an id and the six elements of U. Tensors
 * without any value are left out. */
void add_tensors(Table table, double per_u, std::vector<std::string> *rows)
{
    for (auto row : table) {
        const size_t numbers = row.size() - 1;
        size_t missing = 0;

        for (size_t k = 1; k <= numbers; k++) missing += is_null(row[k]);
        if (missing == numbers) continue;
        rows->push_back(row[0]);
        for (size_t k = 1; k <= numbers; k++) {
            const double value = gemmi::cif::as_number(row[k]);

            if (!std::isfinite(value))
                refuse("the displacement tensor of atom " + row[0].substr(0, 20)
                       + " has a '" + row[k].substr(0, 20) + "', expected a number");
            rows->push_back(per_u == 1 ? row[k] : text_of(value / per_u, DIGITS));
        }
    }
}

/* Collects the displacement tensors, whichever of four ways the file gives them in, in the
 * form that gemmi reads. Returns the ids of the atoms that have one. */
std::unordered_set<std::string> complete_tensors(Block *block)
{
    static const char category[] = "_atom_site_anisotrop.";
    static const struct {
        const char *prefix, *of;
        double per_u;
    } ways[] = {{category, "U", 1},
                {category, "B", B_PER_U},
                {"_atom_site.", "aniso_U", 1},
                {"_atom_site.", "aniso_B", B_PER_U}};
    std::vector<std::string> rows;
    std::unordered_set<std::string> atoms;
    bool found = block->find_mmcif_category(category).length() == 0;

    for (const auto &way : ways) {
        const Table table = block->find(way.prefix, tensor_items(way.of));

        found = found || table.ok();
        if (rows.empty()) add_tensors(table, way.per_u, &rows);
    }
    if (!found)
        refuse("_atom_site_anisotrop has neither id and U[1][1] ... U[2][3] nor id and "
               "B[1][1] ... B[2][3]");
    const auto items = tensor_items("U");

    for (size_t i = 0; i < rows.size(); i += items.size()) atoms.insert(rows[i]);
    block->init_mmcif_loop(category, items).values.swap(rows);
    return atoms;
}

} // namespace

const std::string *find_group_name(Block *block)
{
    for (const char *item :
         {group_name, "_space_group.name_H-M_alt", "_space_group.name_H-M_full"}) {
        const std::string *value = block->find_value(item);

        if (value && !is_null(*value)) return value;
    }
    return nullptr;
}

void complete_mmcif(Block *block, gemmi_model *out)
{
    const std::string *const group = find_group_name(block);

    if (group) block->set_pair(group_name, std::string(*group));
    Loop *const atoms = find_atoms(block);

    if (!atoms) {
        if (block->find_loop("_atom_site_fract_x").item())
            refuse("a CIF of a small molecule (_atom_site_fract_x), expected mmCIF "
                   "(_atom_site.Cartn_x) or PDB; convert it");
        return;
    }
    add_columns(atoms);
    const auto tensors = complete_tensors(block);

    /* the loop is looked up again, because adding a loop may have moved it */
    complete_rows(find_atoms(block), tensors, out);
}

} // namespace nanobrag
