"""panel_moved.py - a panel of 64 that stands 0.1 mm off in an .expt: a fit of the shifts of all
panels to four simulated stills finds it in -exptout, within three of its errors.

Run by the python of DIALS:  panel_moved.py PROGRAM
The reflections are those that DIALS predicts for the wrong panel and wrong crystals.

SPDX-License-Identifier: MIT
"""
import json
import subprocess
import sys

import numpy as np
from dials.algorithms.spot_prediction import StillsReflectionPredictor
from dials.array_family import flex
from dxtbx.model.experiment_list import ExperimentList
from measured import check, failures, run

SIDE, MOVED, SHIFT = 40, 27, (0.06, -0.08)  # mm, along fast and slow
MODEL = ("-default_F 150 -Na 15 -Nb 15 -Nc 11 -gauss_xtal -fluence 1e28 -polar 0.998").split()


def write_geometry():
    """8 x 8 panels with gaps, each turned and moved a little, stacked in the image"""
    rng = np.random.default_rng(8)
    lines = ["photon_energy = 11271.3 eV", "clen = 0.1", "res = 2500", "adu_per_photon = 1"]
    for p in range(64):
        turn = np.radians(rng.normal(0, 0.3))
        x, y = ((np.array([p % 8, p // 8]) - 4) * (SIDE + 3) + 1.5 + rng.normal(0, 0.3, 2))
        lines += ["p%d/%s" % (p, line) for line in (
            "fs = %+.9fx %+.9fy" % (np.cos(turn), np.sin(turn)),
            "ss = %+.9fx %+.9fy" % (-np.sin(turn), np.cos(turn)),
            "corner_x = %.6f" % x, "corner_y = %.6f" % y, "min_fs = 0",
            "max_fs = %d" % (SIDE - 1), "min_ss = %d" % (p * SIDE),
            "max_ss = %d" % (p * SIDE + SIDE - 1))]
    with open("true.geom", "w") as file:
        file.write("\n".join(lines) + "\n")


def rotation(degrees):
    angle = np.radians(degrees)
    size = np.linalg.norm(angle)
    x, y, z = angle / size
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(size) * cross + (1 - np.cos(size)) * cross @ cross


def write_start():
    """the panel where it is not, and the crystals turned and 0.05 % larger"""
    rng = np.random.default_rng(1)
    with open("truth.expt") as file:
        start = json.load(file)
    panel = start["detector"][0]["panels"][MOVED]
    panel["origin"] = list(np.array(panel["origin"]) - SHIFT[0] * np.array(panel["fast_axis"])
                           - SHIFT[1] * np.array(panel["slow_axis"]))
    for crystal in start["crystal"]:
        turn = 1.0005 * rotation(rng.normal(0, 0.04, 3))
        for name in ("real_space_a", "real_space_b", "real_space_c"):
            crystal[name] = list(turn @ np.array(crystal[name]))
    with open("start.expt", "w") as file:
        json.dump(start, file)


def write_reflections():
    out = flex.reflection_table()
    for i, one in enumerate(ExperimentList.from_file("start.expt", check_format=False)):
        table = StillsReflectionPredictor(one, dmin=1.5).for_ub(one.crystal.get_A())
        inside = [3 <= x < SIDE - 3 and 3 <= y < SIDE - 3 for x, y, _ in table["xyzcal.px"]]
        near = np.abs(np.array(table["delpsical.rad"])) < np.radians(0.6)
        # a third of them, for the sake of time
        kept = np.flatnonzero(near & np.array(inside))[::3]
        table = table.select(flex.size_t(kept.tolist()))
        table["id"] = flex.int(len(table), i)
        table["bbox"] = flex.int6([(max(int(x) - 5, 0), min(int(x) + 6, SIDE), max(int(y) - 5, 0),
                                    min(int(y) + 6, SIDE), 0, 1)
                                   for x, y, _ in table["xyzcal.px"]])
        out.extend(table)
    out.as_file("start.refl")


def shifts():
    """shift and error of each panel along fast and slow (64, 2) mm"""
    with open("fit.json") as file:
        found = {v["name"]: v for v in json.load(file)["values"]}
    return np.array([[[found["panel_shift_%s[%d]" % (axis, p)][key] for axis in ("fast", "slow")]
                      for p in range(64)] for key in ("value", "error")])


def main(program):
    write_geometry()
    with open("shots.txt", "w") as file:
        file.write("misset_x misset_y misset_z scale\n12 34 56 1\n-70 20 110 0.8\n"
                   "100 -50 5 1.3\n-20 75 160 1.1\n")
    run(program, "-cell", "93", "93", "130", "90", "90", "120", *MODEL, "-mosaic", "0.15", "-geom",
        "true.geom", "-water", "0.02", "-seed", "5", "-shots", "shots.txt", "-imagefile",
        "stills.nxs", "-truth", "truth.expt")
    write_start()
    write_reflections()
    done = subprocess.run([program, "-expt", "start.expt", "-refl", "start.refl", "-boxes", "refl:8",
                           *MODEL, "-mosaic", "0.25", "-crystal_system", "hexagonal", "-planes",
                           "-fit", "panel_shift_fast[*],panel_shift_slow[*],cell,mosaic",
                           "-fit_each", "misset,scale", "-exptout", "fitted.expt", "-fitfile",
                           "fit.json"], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(done.returncode == 0, "the fit converged: %s" % done.stderr)
    check("beam centre" not in done.stderr, "no warning of the beam centre, which is of a stack")
    value, error = shifts()
    true = np.zeros((64, 2))
    true[MOVED] = SHIFT
    pulls = (value - true) / error
    check(np.abs(pulls[MOVED]).max() < 3 and error[MOVED].max() < 0.001,
          "panel %d: moved by %.5f, %.5f mm, errors %.5f, %.5f, true %g, %g"
          % (MOVED, *value[MOVED], *error[MOVED], *SHIFT))
    check((pulls ** 2).mean() < 1.3 and np.abs(pulls).max() < 4,
          "all panels: mean square of pulls %.2f, largest %.1f"
          % ((pulls ** 2).mean(), np.abs(pulls).max()))
    truth, fitted = (ExperimentList.from_file(name, check_format=False)[0].detector
                     for name in ("truth.expt", "fitted.expt"))
    off = np.array([np.subtract(a.get_origin(), b.get_origin()) for a, b in zip(fitted, truth)])
    along = np.array([(o @ np.array(p.get_fast_axis()), o @ np.array(p.get_slow_axis()))
                      for o, p in zip(off, truth)])
    check((np.abs(along) < 4 * error).all() and (np.abs(along[MOVED]) < 3 * error[MOVED]).all(),
          "fitted.expt: panel %d is %.5f, %.5f mm from where it is" % (MOVED, *along[MOVED]))
    return failures()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
