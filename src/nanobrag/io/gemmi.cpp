/*
 * gemmi.cpp - calls gemmi, a C++ library of headers, for io/gemmi.h.
 *
 * The only file in C++, as gemmi has no C interface. Every function catches all exceptions.
 * gemmi trusts the sizes in an MTZ header, so they are compared with the file first.
 *
 * SPDX-License-Identifier: MIT
 */
#include "io/gemmi.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <locale.h>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#define GEMMI_WRITE_IMPLEMENTATION
#define USE_STD_SNPRINTF
#include <gemmi/cif.hpp>
#include <gemmi/fprime.hpp>
#include <gemmi/it92.hpp>
#include <gemmi/mmcif.hpp>
#include <gemmi/mtz.hpp>
#include <gemmi/pdb.hpp>
#include <gemmi/refln.hpp>
#include <gemmi/solmask.hpp>
#undef GEMMI_WRITE_IMPLEMENTATION

namespace {

/* What the functions below throw; its text is the message. */
struct Refusal : std::runtime_error {
    nb_status status;
    Refusal(nb_status status_, const std::string &text)
        : std::runtime_error(text), status(status_)
    {
    }
};

[[noreturn]] void refuse(const std::string &text)
{
    throw Refusal(NB_ERR_FORMAT, text);
}

/* Copies a text as one line that fits. */
void copy_line(const std::string &text, char *to, size_t size)
{
    size_t n = 0;

    for (char c : text) {
        if (n + 1 == size) break;
        to[n++] = static_cast<unsigned char>(c) < ' ' || c == 127 ? ' ' : c;
    }
    while (n > 0 && to[n - 1] == ' ') n--;
    to[n] = '\0';
}

/* Runs a function and turns what it throws into a status and a message. */
template <typename Function>
nb_status guarded(char why[GEMMI_WHY], Function function) noexcept
{
    why[0] = '\0';
    try {
        function();
        return NB_OK;
    } catch (const Refusal &refusal) {
        copy_line(refusal.what(), why, GEMMI_WHY);
        return refusal.status;
    } catch (const std::bad_alloc &) {
        copy_line("out of memory", why, GEMMI_WHY);
        return NB_ERR_MEMORY;
    } catch (const std::length_error &) {
        copy_line("a size in the file is impossible; the file is damaged", why, GEMMI_WHY);
        return NB_ERR_FORMAT;
    } catch (const std::exception &error) {
        copy_line(error.what(), why, GEMMI_WHY);
        return NB_ERR_FORMAT;
    } catch (...) {
        copy_line("gemmi failed", why, GEMMI_WHY);
        return NB_ERR_FORMAT;
    }
}

template <typename T> T *allocate(size_t n)
{
    T *memory = static_cast<T *>(std::calloc(n + 1, sizeof(T)));

    if (!memory) throw std::bad_alloc();
    return memory;
}

/* ---- cells and space groups ---- */

void check_cell(const gemmi::UnitCell &cell)
{
    const double edges[3] = {cell.a, cell.b, cell.c};
    const double angles[3] = {cell.alpha, cell.beta, cell.gamma};
    bool good = std::isfinite(cell.volume) && cell.volume > 1e-3 * cell.a * cell.b * cell.c;

    for (int i = 0; i < 3; i++)
        good = good && edges[i] > 1.5 && edges[i] < 1e5 && angles[i] > 1 && angles[i] < 179;
    if (!good)
        refuse("no unit cell (1 1 1 and flat cells are not one); the file needs CRYST1, "
               "_cell or CELL as of a crystal");
}

/* Compares the metric of the cell with its images; 1 % is allowed. */
void check_group(const gemmi::UnitCell &cell, const gemmi::GroupOps &ops,
                 const std::string &name)
{
    const auto metric = cell.metric_tensor().elements_voigt();
    const double edge2 = std::max(metric[0], std::max(metric[1], metric[2]));

    for (const gemmi::Op &op : ops.sym_ops) {
        const gemmi::Mat33 m = cell.orth.mat.multiply(gemmi::rot_as_mat33(op));
        const double image[6] = {m.column_dot(0, 0), m.column_dot(1, 1),
                                 m.column_dot(2, 2), m.column_dot(1, 2),
                                 m.column_dot(0, 2), m.column_dot(0, 1)};

        for (int i = 0; i < 6; i++)
            if (!(std::fabs(metric[i] - image[i]) < 0.01 * edge2))
                refuse("the unit cell does not have the symmetry of space group " + name
                       + "; correct one of them");
    }
}

void set_operators(const gemmi::GroupOps &ops, gemmi_crystal *out)
{
    int n = 0;

    for (gemmi::Op op : ops) {
        if (n == GEMMI_OPERATORS) refuse("the space group has too many operators");
        gemmi_operator &to = out->operator_of[n++];

        for (int i = 0; i < 3; i++) {
            for (int k = 0; k < 3; k++) {
                if (op.rot[i][k] % gemmi::Op::DEN != 0)
                    refuse("a symmetry operator is no rotation of the cell");
                to.rotation[i][k] = op.rot[i][k] / gemmi::Op::DEN;
            }
            to.shift[i] = ((op.tran[i] % gemmi::Op::DEN) + gemmi::Op::DEN) % gemmi::Op::DEN;
        }
    }
    out->noperator = n;
}

static_assert(gemmi::Op::DEN == GEMMI_SHIFT, "the unit of shifts");

void set_crystal(const gemmi::UnitCell &cell, const gemmi::SpaceGroup *group,
                 const std::string &name, gemmi_crystal *out)
{
    const double numbers[6] = {cell.a, cell.b, cell.c, cell.alpha, cell.beta, cell.gamma};

    check_cell(cell);
    if (name.empty() && !group)
        refuse(
            "no space group; the file needs CRYST1, _symmetry or SYMINF as of a crystal");
    if (!group) refuse("the space group '" + name.substr(0, 24) + "' is unknown");
    std::memcpy(out->cell, numbers, sizeof numbers);
    copy_line(group->xhm(), out->space_group, sizeof out->space_group);
    check_group(cell, group->operations(), group->xhm());
    set_operators(group->operations(), out);
}

/* ---- models ---- */

using Table = gemmi::IT92<double>;

bool is_cif(const char *at, const char *end)
{
    while (at < end && (std::isspace(static_cast<unsigned char>(*at)) || *at == '#')) {
        if (*at == '#')
            while (at < end && *at != '\n') at++;
        else
            at++;
    }
    return end - at > 5 && gemmi::ialpha4_id(at) == gemmi::ialpha4_id("data")
           && at[4] == '_';
}

gemmi::Structure parse_pdb(const char *bytes, size_t n, int *short_lines)
{
    gemmi::PdbReadOptions options;

    *short_lines = 0;
    try {
        return gemmi::read_pdb_from_memory(bytes, n, "", options);
    } catch (const std::runtime_error &error) {
        if (!std::strstr(error.what(), "charge")) throw;
    }
    /* Files older than 1996 have the name of the entry and a line number in columns 73-80.
     */
    options.max_line_length = 72;
    *short_lines = 1;
    return gemmi::read_pdb_from_memory(bytes, n, "", options);
}

gemmi::Structure parse_model(const char *bytes, size_t n, int *short_lines)
{
    *short_lines = 0;
    if (!is_cif(bytes, bytes + n)) return parse_pdb(bytes, n, short_lines);
    gemmi::cif::Document document = gemmi::cif::read_memory(bytes, n, "mmCIF");

    return gemmi::make_structure(document);
}

void set_atom(const gemmi::Chain &chain, const gemmi::Residue &residue,
              const gemmi::Atom &atom, gemmi_atom *out)
{
    const auto u = atom.aniso.elements_pdb();
    std::string name =
        chain.name + ' ' + residue.name + ' ' + residue.seqid.str() + ' ' + atom.name;

    if (atom.altloc) name += std::string(" ") + atom.altloc;
    copy_line(name, out->name, sizeof out->name);
    out->position[0] = atom.pos.x;
    out->position[1] = atom.pos.y;
    out->position[2] = atom.pos.z;
    out->b = atom.b_iso;
    out->occupancy = atom.occ;
    for (int i = 0; i < 6; i++) out->u[i] = u[i];
    out->element = atom.element.ordinal();
    if (out->element == 0 || !Table::has(atom.element.elem))
        refuse("atom " + name
               + " is of an unknown element; its symbol belongs into columns "
                 "77-78 (PDB) or _atom_site.type_symbol");
    for (double x : out->position)
        if (!(std::fabs(x) < 1e6))
            refuse("atom " + name + " has no position; expected coordinates in A");
    if (!(std::fabs(out->occupancy) <= 100))
        refuse("atom " + name + " has no occupancy; expected 0 to 1");
    for (double x : out->u)
        if (!(std::fabs(x) <= 100)) refuse("atom " + name + " has impossible ANISOU");
    if (!(out->b >= -1000 && out->b <= 10000))
        refuse("atom " + name + " has an impossible B");
}

/* Applies an operation of non-crystallographic symmetry. */
void move_atom(const gemmi::Transform &by, gemmi_atom *atom)
{
    const gemmi::Vec3 moved =
        by.apply(gemmi::Vec3(atom->position[0], atom->position[1], atom->position[2]));
    const gemmi::SMat33<double> u{atom->u[0], atom->u[1], atom->u[2],
                                  atom->u[3], atom->u[4], atom->u[5]};
    const auto turned = u.transformed_by<double>(by.mat).elements_pdb();

    atom->position[0] = moved.x;
    atom->position[1] = moved.y;
    atom->position[2] = moved.z;
    for (int i = 0; i < 6; i++) atom->u[i] = turned[i];
}

void set_matrices(const gemmi::UnitCell &cell, gemmi_model *out)
{
    double difference = 0;
    const gemmi::Mat33 one = cell.orth.mat.multiply(cell.frac.mat);
    /* the edges that SCALE implies are those of the cell */
    const gemmi::Mat33 &axes = cell.orth.mat;
    const double edges[3] = {cell.a, cell.b, cell.c};

    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            out->fractional[3 * i + k] = cell.frac.mat[i][k];
            out->orthogonal[3 * i + k] = axes[i][k];
            difference = std::fmax(difference, std::fabs(one[i][k] - (i == k)));
        }
        out->fractional[9 + i] = cell.frac.vec.at(i);
        const double edge = std::sqrt(axes.column_dot(i, i));
        difference = std::fmax(difference, std::fabs(edge / edges[i] - 1) / 10);
    }
    if (!(difference < 1e-3))
        refuse("SCALE (or _atom_sites.fract_transf_matrix) contradicts the unit cell; "
               "correct or remove it");
}

size_t count_atoms(const gemmi::Model &model)
{
    size_t n = 0;

    for (const gemmi::Chain &chain : model.chains)
        for (const gemmi::Residue &residue : chain.residues) n += residue.atoms.size();
    return n;
}

void fill_model(const gemmi::Structure &structure, gemmi_model *out)
{
    const size_t n = structure.models.empty() ? 0 : count_atoms(structure.models[0]);
    std::vector<gemmi::Transform> copies;
    size_t at = 0;

    out->nmodel = static_cast<int>(structure.models.size());
    if (n == 0)
        refuse("no atoms; expected ATOM records (PDB) or _atom_site (mmCIF), check that "
               "the file is whole");
    check_cell(structure.cell);
    set_matrices(structure.cell, out);
    set_crystal(structure.cell, structure.find_spacegroup(), structure.spacegroup_hm,
                &out->crystal);
    for (const gemmi::NcsOp &ncs : structure.ncs)
        if (!ncs.given) copies.push_back(ncs.tr);
    out->ncopies = static_cast<int>(copies.size());
    if (copies.size() > 1000) refuse("more than 1000 MTRIX operators");
    out->atom = allocate<gemmi_atom>(n * (copies.size() + 1));
    for (const gemmi::Chain &chain : structure.models[0].chains)
        for (const gemmi::Residue &residue : chain.residues)
            for (const gemmi::Atom &atom : residue.atoms)
                set_atom(chain, residue, atom, &out->atom[at++]);
    for (const gemmi::Transform &copy : copies)
        for (size_t i = 0; i < n; i++, at++) {
            out->atom[at] = out->atom[i];
            move_atom(copy, &out->atom[at]);
        }
    out->natom = at;
}

/* ---- reflections ---- */

/* The column of F and that of its Friedel mate, the same where they are not apart. */
struct Choice {
    std::string plus, minus;
};

/* The label of the Friedel mate of F(+), F_plus and the like; empty if it is none. */
std::string mate_of(const std::string &label)
{
    static const char *const pairs[][2] = {{"(+)", "(-)"}, {"_plus", "_minus"}};

    for (auto &pair : pairs) {
        const size_t at = label.find(pair[0]);

        if (at != std::string::npos)
            return label.substr(0, at) + pair[1] + label.substr(at + std::strlen(pair[0]));
    }
    return "";
}

/* Chooses the column: `amplitudes` are those that can be meant without a label. */
Choice choose(const std::vector<std::string> &labels,
              const std::vector<std::string> &amplitudes, const char *label)
{
    const auto has = [&labels](const std::string &one) {
        return std::find(labels.begin(), labels.end(), one) != labels.end();
    };
    const auto list = [](const std::vector<std::string> &names) {
        std::string all;

        for (const std::string &name : names)
            if (all.size() < 300) all += (all.empty() ? "" : " ") + name;
        return all;
    };
    std::string chosen = label ? label : "";

    if (chosen.empty() && amplitudes.empty())
        refuse("no column of amplitudes (type F); intensities are not taken, make "
               "amplitudes of them first");
    if (chosen.empty() && amplitudes.size() > 1)
        refuse("several columns of amplitudes: " + list(amplitudes)
               + "; name one behind the file, as FILE:" + amplitudes[0]);
    if (chosen.empty()) chosen = amplitudes[0];
    if (!has(chosen)) refuse("no column " + chosen + "; there are " + list(labels));
    const std::string mate = mate_of(chosen);

    return {chosen, !mate.empty() && has(mate) ? mate : chosen};
}

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

/* Numbers of the header that gemmi takes as sizes. */
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
    std::vector<std::string> labels, amplitudes;

    for (const gemmi::Mtz::Column &column : mtz.columns) {
        const bool mate = column.type == 'G' && mate_of(column.label).empty();

        labels.push_back(column.label);
        if (column.type == 'F' || (column.type == 'G' && !mate))
            amplitudes.push_back(column.label);
    }
    const Choice choice = choose(labels, amplitudes, label);
    const gemmi::Mtz::Column &plus = mtz.get_column_with_label(choice.plus);
    const gemmi::Mtz::Column &minus = mtz.get_column_with_label(choice.minus);

    for (const gemmi::Mtz::Column *column : {&plus, &minus})
        if (!std::strchr("FGDEQR", column->type))
            refuse("column " + column->label + " has type " + column->type
                   + ", which is no amplitude (F or G)");
    set_crystal(mtz.get_cell(plus.dataset_id), mtz.spacegroup, mtz.spacegroup_name,
                &out->crystal);
    start_rows(static_cast<size_t>(mtz.nreflections), out);
    for (size_t i = 0; i < out->n; i++) {
        const float pair[2] = {plus[i], minus[i]};

        for (size_t k = 0; k < 3; k++) out->hkl[3 * i + k] = whole_index(mtz.columns[k][i]);
        for (size_t k = 0; k < 2; k++)
            out->f[2 * i + k] =
                std::isfinite(pair[k]) && pair[k] != mtz.valm ? pair[k] : NAN;
    }
}

void read_sf_cif(const char *bytes, size_t n, const char *label, gemmi_reflections *out)
{
    static const char *const known[] = {"F_meas_au",
                                        "F_meas",
                                        "F_calc",
                                        "F_calc_au",
                                        "pdbx_F_calc_with_solvent",
                                        "pdbx_F_plus"};
    gemmi::cif::Document document = gemmi::cif::read_memory(bytes, n, "mmCIF");

    for (gemmi::cif::Block &one : document.blocks) {
        gemmi::ReflnBlock block{std::move(one)};
        std::vector<std::string> amplitudes;

        if (!block.refln_loop) continue;
        const std::vector<std::string> labels = block.column_labels();
        for (const char *name : known)
            if (std::find(labels.begin(), labels.end(), name) != labels.end())
                amplitudes.push_back(name);
        const Choice choice = choose(labels, amplitudes, label);
        const std::vector<double> plus = block.make_vector(choice.plus, double(NAN));
        const std::vector<double> minus = block.make_vector(choice.minus, double(NAN));
        std::vector<double> index[3];

        for (size_t k = 0; k < 3; k++)
            index[k] = block.make_vector(std::string("index_") + "hkl"[k], double(NAN));
        set_crystal(block.cell, block.spacegroup, block.spacegroup ? "" : "?",
                    &out->crystal);
        start_rows(plus.size(), out);
        for (size_t i = 0; i < out->n; i++) {
            for (size_t k = 0; k < 3; k++) out->hkl[3 * i + k] = whole_index(index[k][i]);
            out->f[2 * i] = std::isfinite(plus[i]) ? plus[i] : NAN;
            out->f[2 * i + 1] = std::isfinite(minus[i]) ? minus[i] : NAN;
        }
        return;
    }
    refuse("no reflections (_refln.index_h); this mmCIF may be a model, which -pdb reads");
}

/* While one lives, numbers are printed with a decimal point, whatever the locale. */
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

nb_status gemmi_model_read(const char *bytes, size_t n, gemmi_model *out,
                           char why[GEMMI_WHY])
{
    std::memset(out, 0, sizeof *out);
    const nb_status status =
        guarded(why, [&] { fill_model(parse_model(bytes, n, &out->short_lines), out); });

    if (status != NB_OK) gemmi_model_free(out);
    return status;
}

void gemmi_model_free(gemmi_model *model)
{
    std::free(model->atom);
    model->atom = nullptr;
    model->natom = 0;
}

nb_status gemmi_form_factor_of(int element, gemmi_form_factor *out)
{
    const gemmi::Element of{static_cast<gemmi::El>(element)};

    if (element <= 0 || !Table::has(of.elem)) return NB_ERR_ARGUMENT;
    const Table::Coef &coefficients = Table::get(of.elem);

    for (int i = 0; i < 4; i++) {
        out->a[i] = coefficients.a(i);
        out->b[i] = coefficients.b(i);
    }
    out->c = coefficients.c();
    out->number = of.atomic_number();
    copy_line(of.uname(), out->name, sizeof out->name);
    return NB_OK;
}

nb_status gemmi_anomalous(int element, double wavelength, double out[2])
{
    const gemmi::Element of{static_cast<gemmi::El>(element)};
    const int z = of.atomic_number();

    out[0] = out[1] = 0;
    if (z >= 3 && z <= 92)
        out[0] = gemmi::cromer_liberman(z, gemmi::hc() / wavelength, &out[1]);
    return std::isfinite(out[0]) && std::isfinite(out[1]) ? NB_OK : NB_ERR_ARGUMENT;
}

int gemmi_element(const char *symbol)
{
    const gemmi::Element of{symbol};

    return Table::has(of.elem) ? of.ordinal() : 0;
}

nb_status gemmi_solvent_mask(const gemmi_model *from, double dmin, gemmi_mask *out,
                             char why[GEMMI_WHY])
{
    std::memset(out, 0, sizeof *out);
    return guarded(why, [&] {
        const gemmi_crystal &crystal = from->crystal;
        gemmi::Grid<float> grid;
        gemmi::Transform fractional;
        gemmi::UnitCell cell;
        gemmi::Model model("1");
        gemmi::Residue residue;

        cell.set(crystal.cell[0], crystal.cell[1], crystal.cell[2], crystal.cell[3],
                 crystal.cell[4], crystal.cell[5]);
        for (int i = 0; i < 3; i++) {
            for (int k = 0; k < 3; k++) fractional.mat[i][k] = from->fractional[3 * i + k];
            fractional.vec.at(i) = from->fractional[9 + i];
        }
        cell.set_matrices_from_fract(fractional);
        grid.spacegroup =
            gemmi::find_spacegroup_by_name(crystal.space_group, cell.alpha, cell.gamma);
        grid.set_unit_cell(cell);
        grid.set_size_from_spacing(dmin / 3, true);
        for (size_t i = 0; i < from->natom; i++) {
            gemmi::Atom atom;

            atom.element = gemmi::Element(static_cast<gemmi::El>(from->atom[i].element));
            atom.pos = gemmi::Position(from->atom[i].position[0], from->atom[i].position[1],
                                       from->atom[i].position[2]);
            residue.atoms.push_back(atom);
        }
        model.chains.emplace_back("A");
        model.chains[0].residues.push_back(residue);
        gemmi::SolventMasker(gemmi::AtomicRadiiSet::Cctbx).put_mask_on_grid(grid, model);
        out->value = allocate<float>(grid.data.size());
        std::memcpy(out->value, grid.data.data(), grid.data.size() * sizeof *out->value);
        out->n[0] = grid.nu;
        out->n[1] = grid.nv;
        out->n[2] = grid.nw;
    });
}

nb_status gemmi_reflections_read(const char *bytes, size_t n, const char *label,
                                 gemmi_reflections *out, char why[GEMMI_WHY])
{
    std::memset(out, 0, sizeof *out);
    const nb_status status = guarded(why, [&] {
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
