"""check.py - what DIALS made of the sweep of closed_loop.sh against what went into it.

Run by the python of DIALS in the directory of that sweep:  check.py FORMAT
The orientation is worked out here from the command line that erl.json repeats and the cell
of the model, not taken from the program; structure factors come from put_in.mtz.

SPDX-License-Identifier: MIT
"""
import json
import sys

import numpy as np
from dials.array_family import flex
from dxtbx.model.experiment_list import ExperimentListFactory
from iotbx import mtz

SHELLS = ((20.0, 3.5), (3.5, 2.5), (2.5, 2.0), (2.0, 1.75), (1.75, 1.5))
LAB_TO_DXTBX = np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]])
failures = 0


def check(good, text):
    global failures
    failures += not good
    print("%s %s" % ("ok    " if good else "not ok", text))


def close(name, measured, expected, allowed, unit=""):
    off = float(np.max(np.abs(np.subtract(measured, expected))))
    values = (np.array2string(np.array(v), precision=5) for v in (measured, expected))
    check(off <= allowed, "%s: measured %s, put in %s, off by %.2g, allowed %g%s"
          % (name, *values, off, allowed, unit))


def at_least(name, measured, least):
    check(measured >= least, "%s: measured %.6g, allowed at least %g"
          % (name, measured, least))


def numbers_after(command, option, count):
    at = command.index(option) + 1
    return [float(word) for word in command[at:at + count]]


def turn(axis, degrees):
    """rotation about one axis of the laboratory"""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    i, j = (axis + 1) % 3, (axis + 2) % 3
    r = np.eye(3)
    r[i, i], r[i, j], r[j, i], r[j, j] = c, -s, s, c
    return r


def reciprocal_axes(cell, misset):
    """columns a* b* c* at phi 0 in the frame of dxtbx, from the definition of -misset:
    a* along x, b* in the xy plane, then turns about x, y and z"""
    a, b, c = cell[:3]
    ca, cb, cg = np.cos(np.radians(cell[3:]))
    metric = np.array([[a * a, a * b * cg, a * c * cb],
                       [a * b * cg, b * b, b * c * ca],
                       [a * c * cb, b * c * ca, c * c]])
    upper = np.linalg.cholesky(np.linalg.inv(metric)).T
    turned = turn(2, misset[2]) @ turn(1, misset[1]) @ turn(0, misset[0])
    return LAB_TO_DXTBX @ turned @ upper


def cell_of(axes):
    real = np.linalg.inv(axes)
    lengths = np.linalg.norm(real, axis=1)
    cosines = [real[i] @ real[j] / lengths[i] / lengths[j]
               for i, j in ((1, 2), (2, 0), (0, 1))]
    return np.concatenate([lengths, np.degrees(np.arccos(cosines))])


def to_true_indices(experiment, axes):
    """the integers that turn indices of this crystal model into ours, and the axes of the
    model in our setting"""
    found = np.array(experiment.crystal.get_A()).reshape(3, 3)
    change = np.linalg.inv(axes) @ found
    whole = np.rint(change)
    return whole.astype(int), found @ np.linalg.inv(whole), np.abs(change - whole).max()


def load(name):
    return ExperimentListFactory.from_json_file(name, check_format=False)[0]


def direct_beam(experiment):
    panel = experiment.detector[0]
    return np.array(panel.get_ray_intersection_px(experiment.beam.get_s0()))


def check_import(truth, beam, smv):
    imported = load("imported.expt")
    first, last = imported.scan.get_image_range()
    close("images", [first, last], [1, len(truth["images"])], 0)
    close("oscillation", imported.scan.get_oscillation(), [0, 0.5], 1e-9, " degree")
    close("pedestal: of SMV the default of -adc", imported.detector[0].get_pedestal(),
          40 if smv else 0, 0)
    close("wavelength", imported.beam.get_wavelength(),
          truth["beam"]["wavelength_angstrom"], 1e-9, " A")
    close("direct beam in the header", direct_beam(imported), beam, 1e-3, " pixel")


def check_indexing():
    reflections = flex.reflection_table.from_file("indexed.refl")
    indexed = reflections.get_flags(reflections.flags.indexed).count(True)
    spots = len(flex.reflection_table.from_file("strong.refl"))
    at_least("spots found", spots, 2000)
    at_least("spots indexed / %d spots found" % spots, indexed / spots, 0.95)


def check_refined(truth, beam, axes, cell, volumes):
    refined = load("refined.expt")
    whole, fitted, off = to_true_indices(refined, axes)
    close("indices are ours, times integers", off, 0, 0.05)
    close("true volume / that of the cell", abs(np.linalg.det(whole)), volumes, 0)
    close("cell, relative", cell_of(fitted) / cell, np.ones(6), 2e-4)
    print("       cell: %s" % np.array2string(cell_of(fitted), precision=4))
    close("direct beam, refined", direct_beam(refined), beam, 0.05, " pixel")
    close("distance, refined / true", refined.detector[0].get_distance()
          / truth["detector"]["distance_mm"], 1, 1e-3)
    u, _, v = np.linalg.svd(fitted @ np.linalg.inv(axes))
    angle = np.degrees(np.arccos(np.clip((np.trace(u @ v) - 1) / 2, -1, 1)))
    close("orientation", angle, 0, 0.03, " degree")


def put_in():
    """F^2 of every index, the mean of Friedel mates"""
    factors = next(array for array in mtz.object("put_in.mtz").as_miller_arrays()
                   if array.info().labels[0].startswith("FC"))
    squares = factors.customized_copy(data=flex.pow2(flex.abs(factors.data())))
    squares = squares.average_bijvoet_mates().expand_to_p1()
    table = {}
    for index, square in zip(squares.indices(), squares.data()):
        table[index] = table[tuple(-i for i in index)] = square
    return table


def merged_pairs(axes):
    """resolution, merged intensity and F^2 of every merged reflection, no F: left out"""
    scaled = load("scaled.expt")
    close("symmetry operations found, C 2 has 4",
          scaled.crystal.get_space_group().order_z(), 4, 0)
    whole, _, off = to_true_indices(scaled, axes)
    close("scaled indices are ours, times integers", off, 0, 0.05)
    square = put_in()
    merged = next(array for array in mtz.object("merged.mtz").as_miller_arrays()
                  if array.info().labels[0] == "IMEAN")
    rows = []
    for index, intensity in zip(merged.indices(), merged.data()):
        true = tuple(whole @ index)
        if true in square:
            rows.append((1 / np.linalg.norm(axes @ true), intensity, square[true]))
    at_least("merged reflections that are in the list", len(rows) / merged.size(), 0.99)
    return np.array(rows)


def write_reindexing(axes):
    """the change of indices from the setting that DIALS chose to that of the model"""
    whole, _, _ = to_true_indices(load("scaled.expt"), axes)
    sums = ["".join("%+d*%s" % (n, letter) for n, letter in zip(row, "hkl") if n)
            for row in whole]
    with open("reindex.txt", "w") as file:
        file.write(",".join(sums))


def correlation(rows, d_max, d_min):
    shell = rows[(rows[:, 0] <= d_max) & (rows[:, 0] >= d_min)]
    return len(shell), np.corrcoef(shell[:, 1], shell[:, 2])[0, 1]


def check_merged(axes):
    rows = merged_pairs(axes)
    for shell in SHELLS:
        count, cc = correlation(rows, *shell)
        print("       %5.2f to %4.2f A: %4d reflections, correlation with F^2 %.5f"
              % (*shell, count, cc))
    count, cc = correlation(rows, 2.5, 1.5)
    at_least("reflections from 2.5 to 1.5 A", count, 1000)
    at_least("correlation of the merged intensity with F^2, 2.5 to 1.5 A", cc, 0.99)


def main():
    smv = sys.argv[1] in ("smv", "truth")
    with open("erl.json") as file:
        truth = json.load(file)
    with open(truth["structure_factors"]["file"]) as file:
        line = next(line for line in file if line.startswith("CRYST1"))
    cell = [float(line[at:at + 9]) for at in (6, 15, 24)]
    cell += [float(line[at:at + 7]) for at in (33, 40, 47)]
    axes = reciprocal_axes(cell, numbers_after(truth["command"], "-misset", 3))
    beam = np.divide(truth["detector"]["direct_beam_mm"], truth["detector"]["pixel_mm"])
    check_import(truth, beam, smv)
    check_indexing()
    # of a crystal that is not known DIALS takes the primitive cell, half of ours
    check_refined(truth, beam, axes, cell, 1 if sys.argv[1] == "truth" else 2)
    check_merged(axes)
    write_reindexing(axes)
    print("%d failed" % failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
