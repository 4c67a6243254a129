"""panel_sweep.py - see panel_sweep.sh.

    panel_sweep.py make GEOM            a geometry file of 2 x 2 tilted panels
    panel_sweep.py misplace FROM TO     a copy of an NXmx with panel 3 half a pixel off along fast
    panel_sweep.py judge                what DIALS found in both

SPDX-License-Identifier: MIT
"""
import math
import shutil
import sys

import numpy as np

from four_panels import turn

PIXEL, SIDE, CLEN, ENERGY = 0.172, 250, 0.05, 12398.42
MISPLACED = 3


def make(name):
    """panels with gaps of 3 mm around the beam, each tilted by another degree or two"""
    with open(name, "w") as file:
        file.write("photon_energy = %r eV\nclen = %r m\nres = %r\n" % (ENERGY, CLEN, 1000 / PIXEL))
        for i in range(4):
            axes = turn(1.5 - i, 0.7 * i - 1, 0.5 * i)
            half = PIXEL * SIDE / 2
            middle = np.array([(half + 1.5) * (1 if i % 2 else -1),
                               (half + 1.5) * (1 if i // 2 else -1), 0.4 * i])
            corner = middle - half * (axes[:, 0] + axes[:, 1])
            for key, axis in (("fs", axes[:, 0]), ("ss", axes[:, 1])):
                file.write("p%d/%s = %+.17fx %+.17fy %+.17fz\n" % (i, key, *axis))
            file.write("p%d/corner_x = %.17g\np%d/corner_y = %.17g\np%d/coffset = %.17g\n"
                       % (i, corner[0] / PIXEL, i, corner[1] / PIXEL, i, corner[2] / 1000))
            file.write("p%d/min_fs = 0\np%d/max_fs = %d\n" % (i, i, SIDE - 1))
            file.write("p%d/min_ss = %d\np%d/max_ss = %d\n" % (i, SIDE * i, i, SIDE * (i + 1) - 1))
        file.write("group_q0 = p0,p1\ngroup_q1 = p2,p3\ngroup_all = q0,q1\n")


def misplace(source, target):
    import h5py

    shutil.copy(source, target)
    with h5py.File(target, "r+") as file:
        module = file["/entry/instrument/detector/module%d" % MISPLACED]
        fast = module["fast_pixel_direction"].attrs["vector"]
        offset = module["module_offset"]
        offset.attrs["offset"] = np.asarray(offset.attrs["offset"]) + 0.5 * PIXEL * fast


def found(name):
    """which strong spots are indexed, which an edge of a panel cuts, so that their centroids
    are not those of the spots, and the rmsd of each panel, pixels"""
    from dials.array_family import flex

    spots = flex.reflection_table.from_file(name + "_indexed.refl")
    indexed = spots.get_flags(spots.flags.indexed).as_numpy_array()
    box = np.array(spots["bbox"])
    cut = (box[:, [0, 2]] <= 0).any(axis=1) | (box[:, [1, 3]] >= SIDE).any(axis=1)
    refined = flex.reflection_table.from_file(name + ".refl")
    refined = refined.select(refined.get_flags(refined.flags.used_in_refinement))
    rmsd = []
    for panel in range(4):
        on = refined.select(refined["panel"] == panel)
        off = on["xyzcal.px"].as_numpy_array() - on["xyzobs.px.value"].as_numpy_array()
        rmsd.append([math.sqrt(np.mean(off[:, k] ** 2)) for k in (0, 1)] + [len(on)])
    return indexed, cut, rmsd


def judge():
    from dxtbx.model.experiment_list import ExperimentList

    from measured import check, failures

    indexed, cut, rmsd = found("right")
    check(indexed[~cut].all() and (~cut).sum() > 500,
          "%.2f %% of %d spots are indexed, allowed 100"
          % (100 * indexed[~cut].mean(), (~cut).sum()))
    check(indexed.mean() > 0.999,
          "%.2f %% with the %d that the edge of a panel cuts, allowed 99.9"
          % (100 * indexed.mean(), cut.sum()))
    for panel, (fast, slow, n) in enumerate(rmsd):
        check(max(fast, slow) < 0.05 and n > 50,
              "panel %d: rmsd %.3f, %.3f pixel of %d spots, allowed 0.05" % (panel, fast, slow, n))
    cells = [np.array(ExperimentList.from_file(name + ".expt", check_format=False)[0]
                      .crystal.get_unit_cell().parameters()) for name in ("truth", "right")]
    # the primitive cell that is indexed has the volume of half of the centred one
    volumes = [ExperimentList.from_file(name + ".expt", check_format=False)[0]
               .crystal.get_unit_cell().volume() for name in ("truth", "right")]
    ratio = volumes[0] / volumes[1]
    off = abs(ratio / round(ratio) - 1) / 3
    check(round(ratio) in (1, 2) and off < 1e-4,
          "cell %s for %s: edges by the volume off by %.2g, allowed 1e-4" % (cells[1], cells[0], off))
    rmsd = found("wrong")[2]
    fast, slow, n = rmsd[MISPLACED]
    check(max(fast, slow) > 0.1,
          "misplaced by half a pixel: rmsd %.3f, %.3f there, expected above 0.1" % (fast, slow))
    return failures()


if __name__ == "__main__":
    what = {"make": make, "misplace": misplace, "judge": judge}[sys.argv[1]]
    sys.exit(what(*sys.argv[2:]))
