/* gemmi_oracle.cpp - see gemmi_oracle.h. SPDX-License-Identifier: MIT */
#include "structure/gemmi_oracle.h"

#include <cmath>
#include <complex>
#include <exception>
#include <gemmi/cif.hpp>
#include <gemmi/fprime.hpp>
#include <gemmi/gz.hpp>
#include <gemmi/it92.hpp>
#include <gemmi/mmcif.hpp>
#include <gemmi/pdb.hpp>
#include <gemmi/sfcalc.hpp>
#include <gemmi/solmask.hpp>
#include <iostream>

using Table = gemmi::IT92<double>;
using Complex = std::complex<double>;

static gemmi::Structure read_model(const std::string &path, int columns)
{
    gemmi::PdbReadOptions options;

    options.max_line_length = columns;
    if (path.find(".cif") == std::string::npos)
        return gemmi::read_pdb(gemmi::MaybeGzipped(path), options);
    return gemmi::make_structure(gemmi::cif::read(gemmi::MaybeGzipped(path)));
}

/* The sum over atoms, each with its f + f' + i f''. */
static Complex sum(const gemmi::Structure &structure, double wavelength,
                   const gemmi::Miller &hkl)
{
    gemmi::StructureFactorCalculator<Table> calculator(structure.cell);
    Complex f = 0;

    calculator.set_stol2_and_scattering_factors(hkl);
    for (const gemmi::Chain &chain : structure.models[0].chains)
        for (const gemmi::Residue &residue : chain.residues)
            for (const gemmi::Atom &atom : residue.atoms) {
                const int z = atom.element.atomic_number();
                const Complex wave =
                    calculator.calculate_sf_from_atom_sf(structure.cell.fractionalize(
                                                             atom.pos),
                                                         atom, hkl, 1.0);
                Complex scattering = calculator.get_scattering_factor(atom.element);

                if (wavelength > 0 && z > 2) {
                    double second = 0;
                    const double first =
                        gemmi::cromer_liberman(z, gemmi::hc() / wavelength, &second);

                    scattering += Complex(first, second);
                }
                f += wave * scattering;
            }
    return f;
}

static gemmi::Miller miller(const int hkl[3])
{
    return {{hkl[0], hkl[1], hkl[2]}};
}

int oracle_factors(const char *path, int columns, double wavelength, int n,
                   const int (*hkl)[3], double (*f)[2])
{
    try {
        const gemmi::Structure structure = read_model(path, columns);

        for (int i = 0; i < n; i++) {
            const Complex value = sum(structure, wavelength, miller(hkl[i]));

            f[i][0] = value.real();
            f[i][1] = value.imag();
        }
        return 1;
    } catch (const std::exception &error) {
        std::cerr << path << ": " << error.what() << '\n';
        return 0;
    }
}

int oracle_solvent(const char *path, double dmin, const double k_and_b[2], int n,
                   const int (*hkl)[3], double (*f)[2])
{
    try {
        gemmi::Structure structure = read_model(path, 0);
        /* what mmtbx has; versions of gemmi differ */
        gemmi::SolventMasker masker(gemmi::AtomicRadiiSet::Cctbx);
        gemmi::Grid<float> grid;

        masker.rprobe = 1.1;
        masker.rshrink = 0.9;
        for (gemmi::Chain &chain : structure.models[0].chains)
            for (gemmi::Residue &residue : chain.residues)
                gemmi::vector_remove_if(residue.atoms, [](const gemmi::Atom &atom) {
                    return atom.is_hydrogen();
                });

        grid.setup_from(structure, std::fmin(dmin / 3, 0.6));
        masker.put_mask_on_grid(grid, structure.models[0]);
        const double each = structure.cell.volume / (double)grid.point_count();

        for (int i = 0; i < n; i++) {
            const double stol2 = structure.cell.calculate_stol_sq(miller(hkl[i]));
            Complex value = 0;

            for (const auto &point : grid) {
                const double turns = hkl[i][0] * (double)point.u / grid.nu
                                     + hkl[i][1] * (double)point.v / grid.nv
                                     + hkl[i][2] * (double)point.w / grid.nw;

                if (*point.value != 0)
                    value +=
                        (double)*point.value * std::polar(1.0, 2 * gemmi::pi() * turns);
            }
            value *= each * k_and_b[0] * std::exp(-k_and_b[1] * stol2);
            f[i][0] = value.real();
            f[i][1] = value.imag();
        }
        return 1;
    } catch (const std::exception &error) {
        std::cerr << path << ": " << error.what() << '\n';
        return 0;
    }
}
