"""stills.py - twenty simulated stills through DIALS and back: a fit of each from the files of DIALS
has the bits of a fit from raw floats and the same boxes, a joint fit finds the true cell, and what
it writes is read by DIALS, and by a fit again.

Run by the python of DIALS:  stills.py PROGRAM STILLS_PROCESS PDB
SPDX-License-Identifier: MIT
"""
import csv
import json
import subprocess
import sys

import h5py
import numpy as np
from dials.array_family import flex
from dxtbx.model.experiment_list import ExperimentList
from measured import check, failures, run

NSTILL = 20
CELL = {"cell_a": 53.91, "cell_b": 23.1, "cell_c": 23.1, "cell_beta": 110.4}
MOSAIC = 0.15
EXPT, REFL = "idx-0000_refined.expt", "idx-0000_indexed.refl"
CRYSTAL = "-Na 12 -Nb 28 -Nc 28 -gauss_xtal -fluence 1e28 -psf gauss -psf_fwhm 0.2 -water 0.05".split()


def simulate(program, pdb):
    rng = np.random.default_rng(4)
    with open("shots.txt", "w") as file:
        file.write("misset_x misset_y misset_z scale\n")
        for row in rng.uniform((-180, -90, -180, 0.7), (180, 90, 180, 1.4), (NSTILL, 4)):
            file.write("%.4f %.4f %.4f %.3f\n" % tuple(row))
    # 0.998: the polarization that dxtbx gives to an NXmx
    run(program, "-pdb", pdb, *CRYSTAL, "-mosaic", str(MOSAIC), "-polar", "0.998", "-lambda", "1.1",
        "-distance", "60", "-detpixels", "512", "-pixel", "0.2", "-seed", "3", "-shots",
        "shots.txt", "-imagefile", "stills.nxs", "-notruth")


def succeeds(*command):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(done.returncode == 0, "%s: exit status %d" % (" ".join(command[:3]), done.returncode))
    if done.returncode:
        print(done.stdout[-2000:])
    return done.stdout


def values(name):
    """what a fit found, to the bit"""
    with open(name) as file:
        fit = json.load(file)
    return fit["loss"], [(v["name"], v["value"], v["error"]) for v in fit["values"]]


def check_bits(program, model):
    """each still: from its experiment and its reflections, and from raw floats and boxes"""
    table = flex.reflection_table.from_file(REFL)
    experiments = ExperimentList.from_file(EXPT, check_format=False)
    check(len(experiments) == NSTILL, "DIALS indexed %d of %d stills" % (len(experiments), NSTILL))
    differ = 0
    with h5py.File("stills.nxs") as file:
        frames = file["entry/data/data"][()]
    for n, one in enumerate(experiments):
        frames[one.imageset.indices()[0]].astype("<f4").tofile("raw.bin")
        with open("boxes.txt", "w") as file:
            for f0, f1, s0, s1, _, _ in table["bbox"].select(table["id"] == n):
                file.write("%d %d %d %d\n" % (f0, f1 - 1, s0, s1 - 1))
        free = "-fit misset,scale,cell,mosaic".split()
        here = "%s:%d" % (EXPT, n)
        run(program, "-expt", here, *model, *free, "-refl", REFL, "-boxes", "refl:1", "-fitfile",
            "files.json")
        run(program, "-expt", here, *model, *free, "-data", "raw.bin", "-boxes", "boxes.txt",
            "-fitfile", "raw.json")
        differ += values("files.json") != values("raw.json")
    check(differ == 0, "%d of %d fits from raw floats and the same boxes differ in a bit"
          % (differ, len(experiments)))


def check_joint(program, model):
    run(program, "-expt", EXPT, *model, "-refl", REFL, "-fit", "cell,mosaic", "-fit_each",
        "misset,scale", "-exptout", "fitted.expt", "-reflout", "fitted.refl", "-fittable",
        "fitted.csv", "-fitfile", "fitted.json")
    loss, found = values("fitted.json")
    for name, true in {**CELL, "mosaic": MOSAIC}.items():
        value, error = next((v, e) for n, v, e in found if n == name)
        check(abs(value - true) < 4 * error < 0.01,
              "%s %.5f(%.0f), true %g, 4 errors allowed" % (name, value, error * 1e5, true))
    with open("fitted.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    worst = max(float(row["rms_z"]) for row in rows)
    check(len(rows) == NSTILL and worst < 1.05, "rms of z of each still: at most %.3f" % worst)
    return loss


def check_again(program, model, loss):
    """the files of the fit hold it: a fit of the scales alone has its loss"""
    run(program, "-expt", "fitted.expt", *model, "-refl", "fitted.refl", "-fit_each", "scale",
        "-fitfile", "again.json")
    again = values("again.json")[0]
    check(abs(again / loss - 1) < 1e-9, "loss %.17g from the files of a fit that ended at %.17g"
          % (again, loss))


def check_dials():
    said = succeeds("dials.show", "fitted.expt", "fitted.refl")
    check("nanobrag.z" in said and said.count("Crystal:") == NSTILL, "dials.show has all of it")
    succeeds("dials.refine", "fitted.expt", "fitted.refl", "outlier.algorithm=null")
    said = succeeds("dials.two_theta_refine", "fitted.expt", "fitted.refl")
    line = next((line for line in said.split("\n") if line.startswith("| a ")), "| a | 0 |")
    check(abs(float(line.split("|")[2]) - CELL["cell_a"]) < 0.02,
          "dials.two_theta_refine: %s" % line)


def main(program, stills_process, pdb):
    simulate(program, pdb)
    succeeds(sys.executable, stills_process, "stills.nxs",
             "indexing.known_symmetry.unit_cell=53.91,23.10,23.10,90,110.4,90",
             "indexing.known_symmetry.space_group=C2", "output.composite_output=True",
             "dispatch.integrate=False", "mp.nproc=1",
             "indexing.stills.refine_all_candidates=False",
             "indexing.stills.ewald_proximal_volume_max=1")
    model = ["-pdb", pdb, *CRYSTAL, "-coarse", "off"]
    # only -refl decides scale and resolution of F by the spots: both have the same here
    check_bits(program, model + ["-mosaic", "0.2", "-param", "scale=1", "-dmin", "1"])
    loss = check_joint(program, model + ["-mosaic", "0.2"])
    check_again(program, model, loss)
    check_dials()
    return failures()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
