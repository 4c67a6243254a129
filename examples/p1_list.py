#!/usr/bin/env python3
"""p1_list.py - a list of structure factors in P1 for nanobrag's -hkl, from a model or an MTZ.

    python3 p1_list.py MODEL.cif|MODEL.pdb D_MIN > list.hkl
    python3 p1_list.py DATA.mtz COLUMN > list.hkl

A model gives calculated amplitudes, in electrons, without bulk solvent, to D_MIN in Angstrom.
An MTZ gives the amplitudes of a column such as FC or F. The space group is applied, and both
members of each Friedel pair are listed. The unit cell is printed to stderr, for -cell.
Needs gemmi (python3 -m pip install gemmi). SPDX-License-Identifier: MIT
"""
import sys

import gemmi


def from_model(path, d_min):
    """Returns cell, space group, and [(hkl, F)] of the asymmetric unit."""
    structure = gemmi.read_structure(path)
    calculator = gemmi.DensityCalculatorX()
    calculator.d_min = d_min
    calculator.rate = 2
    calculator.set_refmac_compatible_blur(structure[0])
    calculator.grid.setup_from(structure)
    calculator.put_model_density_on_grid(structure[0])
    factors = gemmi.transform_map_to_f_phi(calculator.grid).prepare_asu_data(
        dmin=d_min, unblur=calculator.blur)
    return (structure.cell, structure.find_spacegroup(),
            [(list(r.hkl), abs(r.value)) for r in factors])


def from_mtz(path, column):
    """The same from an MTZ, whose missing values are left out."""
    mtz = gemmi.read_mtz_file(path)
    labels = [c.label for c in mtz.columns]
    if column not in labels:
        sys.exit(f"{path}: no column {column}; there are {' '.join(labels)}")
    if mtz.column_with_label(column).type == "J":
        sys.exit(f"{path}: {column} holds intensities; F is their square root")
    rows = zip(mtz.make_miller_array().tolist(), mtz.column_with_label(column).array.tolist())
    return mtz.cell, mtz.spacegroup, [(hkl, f) for hkl, f in rows if f == f]


def expand(group, reflections):
    """Returns {hkl: F} with the mates that rotations and inversion give."""
    rotations = [op.rot for op in group.operations().sym_ops]
    listed = {}
    for (h, k, l), f in reflections:
        for r in rotations:
            mate = tuple((h * r[0][i] + k * r[1][i] + l * r[2][i]) // gemmi.Op.DEN
                         for i in range(3))
            listed[mate] = listed[tuple(-x for x in mate)] = f
    return listed


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    path, what = sys.argv[1:]
    if path.lower().endswith(".mtz"):
        cell, group, reflections = from_mtz(path, what)
    else:
        cell, group, reflections = from_model(path, float(what))
    listed = expand(group, reflections)
    for hkl, f in sorted(listed.items()):
        print(*hkl, f"{f:.4f}")
    print("-cell", *(f"{x:g}" for x in cell.parameters), f"({group.hm}, "
          f"{len(reflections)} reflections, {len(listed)} in P1)", file=sys.stderr)


if __name__ == "__main__":
    main()
