/*
 * gemmi_models.cpp - models of atoms, form factors and solvent masks by gemmi, a C++
 * library of headers. C++ is used only in this folder, because gemmi has no C interface.
 * Every function of gemmi.h catches all exceptions.
 *
 * SPDX-License-Identifier: MIT
 */
#define USE_STD_SNPRINTF
#include <algorithm>
#include <cstdlib>
#include <gemmi/cif.hpp>
#include <gemmi/fprime.hpp>
#include <gemmi/it92.hpp>
#include <gemmi/mmcif.hpp>
#include <gemmi/pdb.hpp>
#include <gemmi/solmask.hpp>
#include <string>

#include "nanobrag_io/gemmi/gemmi_records.h"

using namespace nanobrag;

namespace {

/* ---- models ---- */

using Table = gemmi::IT92<double>;

const size_t ATOMS_MOST = 10000000;

gemmi::Structure parse_pdb(const std::string &text, gemmi_model *out)
{
    gemmi::PdbReadOptions options;

    try {
        return gemmi::read_pdb_string(text, "", options);
    } catch (const std::runtime_error &error) {
        if (!std::strstr(error.what(), "charge")) throw;
    }
    /* Files older than 1996 have the name of the entry and a line number in columns 73-80,
     * which gemmi takes for a charge. */
    options.max_line_length = 72;
    out->short_lines = 1;
    out->noted[GEMMI_NO_ELEMENT] = 0;
    return gemmi::read_pdb_string(text, "", options);
}

gemmi::Structure parse_model(const char *bytes, size_t n, gemmi_model *out)
{
    skip_mark(&bytes, &n);
    if (!is_cif(bytes, bytes + n)) return parse_pdb(complete_pdb(bytes, n, out), out);
    check_words(bytes, n);
    gemmi::cif::Document document = gemmi::cif::read_memory(bytes, n, "mmCIF");

    complete_mmcif(&document.blocks.at(0), out);
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
    if (!(out->occupancy >= 0 && out->occupancy <= 1))
        refuse("atom " + name + " has an occupancy of " + text_of(out->occupancy, 6)
               + "; expected 0 to 1");
    for (double x : out->u)
        if (!(std::fabs(x) <= 100)) refuse("atom " + name + " has impossible ANISOU");
    if (!(out->b >= -1000 && out->b <= 10000))
        refuse("atom " + name + " has an impossible B");
}

/* Applies an operator of non-crystallographic symmetry. */
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
    /* the edges that SCALE implies must be the cell's */
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
    if (n > ATOMS_MOST / (copies.size() + 1))
        refuse("more than " + std::to_string(ATOMS_MOST)
               + " atoms with all copies by MTRIX; expected at most so many");
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

} // namespace

/* ---- the functions of gemmi.h ---- */

nb_status gemmi_model_read(const char *bytes, size_t n, gemmi_model *out,
                           char why[GEMMI_WHY])
{
    std::memset(out, 0, sizeof *out);
    const nb_status status =
        guarded(why, [&] { fill_model(parse_model(bytes, n, out), out); });

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

/* Sets the number of mask points along each axis. The condition is on the distance between
 * planes of points, as for a reflection's index; along an oblique axis that is shorter than
 * the step along the axis. */
static void size_mask(gemmi::Grid<float> *grid, double dmin, const int least[3])
{
    const double step = std::fmin(dmin / 3, GEMMI_MASK_STEP);
    const gemmi::UnitCell &cell = grid->unit_cell;
    const std::array<double, 3> points = {{std::fmax(1 / (cell.ar * step), least[0]),
                                           std::fmax(1 / (cell.br * step), least[1]),
                                           std::fmax(1 / (cell.cr * step), least[2])}};
    const std::array<int, 3> n = gemmi::good_grid_size(points, true, grid->spacegroup);

    grid->set_size_without_checking(n[0], n[1], n[2]);
}

/* Returns settings that give the same mask as mmtbx.masks.manager. Versions of gemmi differ
 * in the default radius of the probe and in the treatment of hydrogen, so the radii are set
 * here and the caller leaves out hydrogen atoms. */
static gemmi::SolventMasker masker_of_cctbx()
{
    gemmi::SolventMasker masker(gemmi::AtomicRadiiSet::Cctbx);

    masker.rprobe = 1.1;
    masker.rshrink = 0.9;
    return masker;
}

nb_status gemmi_solvent_mask(const gemmi_model *from, double dmin, const int least[3],
                             gemmi_mask *out, char why[GEMMI_WHY])
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
        size_mask(&grid, dmin, least);
        for (size_t i = 0; i < from->natom; i++) {
            gemmi::Atom atom;

            atom.element = gemmi::Element(static_cast<gemmi::El>(from->atom[i].element));
            if (atom.is_hydrogen()) continue;
            atom.pos = gemmi::Position(from->atom[i].position[0], from->atom[i].position[1],
                                       from->atom[i].position[2]);
            residue.atoms.push_back(atom);
        }
        model.chains.emplace_back("A");
        model.chains[0].residues.push_back(residue);
        masker_of_cctbx().put_mask_on_grid(grid, model);
        out->value = allocate<float>(grid.data.size());
        std::memcpy(out->value, grid.data.data(), grid.data.size() * sizeof *out->value);
        out->n[0] = grid.nu;
        out->n[1] = grid.nv;
        out->n[2] = grid.nw;
    });
}
