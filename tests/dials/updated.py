"""updated.py - -exptout of a fit: dxtbx reads it, and finds crystals, panels in groups and
beam where the fit had them, and all else as it was in the experiment that dxtbx wrote.
-reflout: DIALS finds the same angles and places for the same experiment.

Run by the python of DIALS:  updated.py PROGRAM

SPDX-License-Identifier: MIT
"""
import csv
import sys

import numpy as np
from dials.algorithms.spot_prediction import StillsReflectionPredictor
from dials.array_family import flex
from dxtbx.model import Beam, Scan

from experiment import crystals, goniometers, grouped_detector, load, save, turn
from measured import Worst, check, failures, run

BACK = np.diag([-1, 1, -1])
IMAGES = 3
MODEL = "-default_F 40 -N 5 -gauss_xtal -fluence 1e28 -oversample 1 -water 0.1".split()
MOVED = "-misset 0.3 -0.2 0.4".split()
MISSET = turn((0, 0, 1), 0.4) @ turn((0, 1, 0), -0.2) @ turn((1, 0, 0), 0.3)


def axes_of(crystal):
    return np.reshape([v for row in crystal.get_real_space_vectors() for v in row], (3, 3)).T


def with_scan_points(crystal):
    """the crystal turns by 0.05 degree in each image"""
    star = np.reshape(crystal.get_A(), (3, 3))
    crystal.set_A_at_scan_points([tuple((turn((1, 2, 3), 0.05 * i) @ star).ravel())
                                  for i in range(IMAGES + 1)])
    return crystal


def row_of(name):
    with open(name, newline="") as file:
        return next(csv.DictReader(file))


def fitted(program, *options):
    """a fit of the scale to the image of a file, which so has what options say"""
    run(program, "-expt", "in.expt", *MODEL, *options, "-floatfile", "f.bin")
    run(program, "-expt", "in.expt", *MODEL, *options, "-data", "f.bin", "-fit", "scale",
        "-exptout", "out.expt", "-fittable", "out.csv")
    check(row_of("out.csv")["end"] == "converged", "the fit converged")
    return load("in.expt")[0], load("out.expt")[0]


def check_crystals(program):
    """-misset turns the crystal in the laboratory, behind any goniometer"""
    static = Worst("axes at phi = 0, A", 1e-9)
    points = Worst("A at scan points, 1/A", 1e-12)
    same = Worst("beam, detector, goniometer and scan", 0)
    scan = Scan((5, 4 + IMAGES), (13.0, 0.7))
    for i, goniometer in enumerate(goniometers()):
        for k, sample in enumerate(crystals()):
            where = "goniometer %d, crystal %d" % (i, k)
            changes = k == 0
            save("in.expt", beam=Beam((0.02, -0.03, 1), 1.03), detector=grouped_detector(),
                 goniometer=goniometer, scan=scan,
                 crystal=with_scan_points(sample) if changes else sample)
            before, after = fitted(program, *MOVED)
            turned = np.reshape(goniometer.get_setting_rotation(), (3, 3)) @ np.reshape(
                goniometer.get_fixed_rotation(), (3, 3))
            expected = np.linalg.inv(turned) @ BACK @ MISSET @ BACK @ turned
            static.see(where, axes_of(after.crystal), expected @ axes_of(before.crystal))
            for n in range(before.crystal.num_scan_points):
                a, b = (np.reshape(one.crystal.get_A_at_scan_point(n), (3, 3))
                        for one in (before, after))
                points.see(where, b, expected @ a)
            for model in ("beam", "detector", "goniometer", "scan"):
                same.see(where, int(getattr(before, model) == getattr(after, model)), 1)
            check(type(before.crystal) is type(after.crystal), "the same kind of crystal")
    for quantity in (static, points, same):
        quantity.report()


def check_detector(program):
    """panels in groups are where -truth has them, in the groups of the file"""
    place = Worst("origins of panels, mm", 1e-9)
    save("in.expt", beam=Beam((0, 0, 1), 1.03), detector=grouped_detector(),
         crystal=list(crystals())[0])
    for name, move in {"close_distance": 1.5, "origin_x": 0.7, "wavelength": 0.01,
                       "detector_rotx": 0.3}.items():
        options = ("-param", "%s=%.17g" % (name, start_of(program, name) + move))
        before, after = fitted(program, *options)
        run(program, "-expt", "in.expt", *MODEL, *options, "-floatfile", "f.bin", "-truth",
            "truth.expt")
        truth = load("truth.expt")[0]
        for one, other in zip(after.detector, truth.detector):
            place.see(name, one.get_origin(), other.get_origin())
            place.see(name, one.get_fast_axis(), other.get_fast_axis())
        check(len(after.detector) == len(before.detector), "%s: the same panels" % name)
        check((after.detector == before.detector) == (name == "wavelength"),
              "%s: the detector moves only if it is moved" % name)
        check(abs(after.beam.get_wavelength() - truth.beam.get_wavelength()) < 1e-12,
              "%s: the wavelength" % name)
    place.report()


def start_of(program, name):
    """the value of a parameter at the start of a fit"""
    run(program, "-expt", "in.expt", *MODEL, "-floatfile", "s.bin")
    run(program, "-expt", "in.expt", *MODEL, "-data", "s.bin", "-fit", name, "-fittable", "s.csv",
        "-loss", "gauss")
    row = row_of("s.csv")
    return float(next(row[key] for key in row if key.split(" [")[0] == name))


def check_hdf5(program, table, found, model):
    """a table that DIALS wrote as HDF5 gives the same fit, and has the same columns"""
    table.as_h5("in.h5")
    run(program, "-expt", "still.expt", *model, "-misset", "0.02", "0", "0", "-data", "f.bin",
        "-refl", "in.h5", "-boxes", "refl:1", "-fit", "misset,scale", "-reflout", "h5.refl")
    again = flex.reflection_table.from_file("h5.refl")
    names = sorted(found.keys())
    check(sorted(again.keys()) == names and len(again) == len(found)
          and all(type(again[k]) is type(found[k]) and list(again[k]) == list(found[k])
                  for k in names),
          "%d columns of HDF5 are those of MessagePack" % len(names))


def check_reflections(program):
    """-reflout of a still with a sensor: what DIALS works out for the same experiment"""
    spacing, psi = Worst("d, A", 1e-9), Worst("delpsical.rad", 1e-9)
    place, ray = Worst("xyzcal.mm, mm", 1e-9), Worst("s1, 1/A", 1e-9)
    still = ("-cell 50 60 70 80 95 100 -misset 10 20 30 -lambda 1.2 -distance 110 -detector_rotx 5 "
             "-detpixels 256 -pixel 0.3").split()
    sensor = "-detector_thick 450 -detector_abs 300".split()
    model = "-default_F 100 -N 20 -gauss_xtal -mosaic 0.05 -fluence 1e28 -oversample 6".split()
    run(program, *still, *sensor, *model, "-floatfile", "f.bin", "-truth", "still.expt")
    before = load("still.expt")[0]
    table = StillsReflectionPredictor(before, dmin=2.2).for_ub(before.crystal.get_A())
    table["id"] = flex.int(len(table), 0)
    table["bbox"] = flex.int6([(max(int(x) - 5, 0), min(int(x) + 6, 256), max(int(y) - 5, 0),
                                min(int(y) + 6, 256), 0, 1) for x, y, _ in table["xyzcal.px"]])
    table.as_file("in.refl")
    run(program, "-expt", "still.expt", *model, "-misset", "0.02", "0", "0", "-data", "f.bin",
        "-refl", "in.refl", "-boxes", "refl:1", "-fit", "misset,scale", "-exptout", "out.expt",
        "-reflout", "out.refl")
    after = load("out.expt")[0]
    found = flex.reflection_table.from_file("out.refl")
    check_hdf5(program, table, found, model)
    check(len(found) == len(table) > 20 and found["nanobrag.used"].count(False) == 0,
          "%d reflections, all used" % len(found))
    check(min(found["nanobrag.correlation"]) > 0.999, "they are as the image has them")
    expected = {tuple(h): p for h, p in zip(*(lambda t: (t["miller_index"], t["delpsical.rad"]))(
        StillsReflectionPredictor(after, dmin=2.1).for_ub(after.crystal.get_A())))}
    panel, wavelength = after.detector[0], after.beam.get_wavelength()
    for i in range(len(found)):
        h, px = found["miller_index"][i], found["xyzcal.px"][i][:2]
        spacing.see(str(h), found["d"][i], after.crystal.get_unit_cell().d(h))
        place.see(str(h), found["xyzcal.mm"][i][:2], panel.pixel_to_millimeter(px))
        lab = np.array(panel.get_pixel_lab_coord(px))
        ray.see(str(h), found["s1"][i], lab / np.linalg.norm(lab) / wavelength)
        if h in expected:
            psi.see(str(h), found["delpsical.rad"][i], expected[h])
    for quantity in (spacing, psi, place, ray):
        quantity.report()


def main(program):
    check_crystals(program)
    check_detector(program)
    check_reflections(program)
    return failures()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
