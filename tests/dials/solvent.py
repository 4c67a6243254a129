"""solvent.py - |F| below 4 A with bulk solvent against cctbx's direct sum and the mask of
mmtbx.masks.manager.

Run by the python of DIALS:  solvent.py PROGRAM MODEL...

SPDX-License-Identifier: MIT
"""
import sys

import iotbx.mtz
import iotbx.pdb
import mmtbx.masks
from cctbx.array_family import flex

from measured import check, failures, run

K_SOL, B_SOL = 0.35, 46
SCENE = "-anomalous off -N 5 -detpixels 256 -pixel 1 -distance 200 -lambda 1 -floatfile f.bin".split()


def factors(program, model, *options):
    """|F| below 4 A of a model, from an MTZ of the program"""
    run(program, "-pdb", model, *SCENE, *options, "-fmtz", "f.mtz")
    f = [a for a in iotbx.mtz.object("f.mtz").as_miller_arrays() if a.is_complex_array()][0]
    return abs(f.select(f.d_spacings().data() > 4)).average_bijvoet_mates().map_to_asu()


def r_factor(a, b):
    a, b = a.common_sets(b)
    return flex.sum(flex.abs(a.data() - b.data())) / flex.sum(b.data())


def main(program, *models):
    for model in models:
        plain = factors(program, model)
        wet = factors(program, model, "-solvent", str(K_SOL), str(B_SOL))
        atoms = iotbx.pdb.input(file_name=model).xray_structure_simple()
        atoms.scattering_type_registry(table="it1992")
        direct = plain.structure_factors_from_scatterers(atoms, algorithm="direct").f_calc()
        r = r_factor(plain, abs(direct))
        check(r < 1e-5, "%s: R of %d without solvent %.1e, allowed 1e-5" % (model, plain.size(), r))
        share = K_SOL * flex.exp(-B_SOL * plain.d_star_sq().data() / 4)
        how, total = mmtbx.masks.mask_master_params.extract(), {}
        usual = how.step
        for step in (usual, usual / 2):
            how.step = step
            manager = mmtbx.masks.manager(miller_array=plain, xray_structure=atoms, mask_params=how)
            mask = manager.shell_f_masks()[0].data()
            total[step] = abs(direct.customized_copy(data=direct.data() + share * mask))
        r, own = r_factor(wet, total[usual]), r_factor(total[usual], total[usual / 2])
        check(r < 0.03, "%s: R %.4f to mmtbx's mask in its usual steps of %g A, allowed 0.03 (that mask to "
              "its own in half the steps: %.4f)" % (model, r, usual, own))
        dry = r_factor(plain, total[usual])
        check(dry > 0.1, "%s: R if the solvent is left out %.3f, expected above 0.1" % (model, dry))
    return failures()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
