"""experiment.py - experiments that nanobrag writes, read by dxtbx, and the reverse: frames
of panels in groups, goniometers of several axes, numbers that JSON lacks, XPARM.XDS.

Run by the python of DIALS:  experiment.py PROGRAM
What is expected is worked out here from -json, or by dxtbx itself.

SPDX-License-Identifier: MIT
"""
import math
import os
import sys

import numpy as np
from dxtbx.model import (Beam, Crystal, Detector, Experiment, ExperimentList, Goniometer,
                         MosaicCrystalKabsch2010, MosaicCrystalSauter2014,
                         MultiAxisGoniometer, Scan)
from dxtbx.model.experiment_list import ExperimentListFactory
from dxtbx.serialize import xds
from scitbx.array_family import flex

from measured import Worst, check, described, failures, run

CRYSTAL = ("-cell 50 60 70 80 95 100 -misset 10 20 30 -default_F 40 -N 5 -gauss_xtal "
           "-fluence 1e28 -oversample 1 -lambda 1.03").split()
DETECTOR = "-detpixels_f 61 -detpixels_s 53 -pixel 1.7 -distance 83".split()
SWEEP = "-osc 0.7 -phi 13 -phisteps 2 -images 3".split()
BACKWARDS = "-osc -0.7 -phi 13 -phisteps 2 -images 3".split()
STILL = "-osc 0 -phi 13".split()


def load(name):
    return list(ExperimentListFactory.from_json_file(name, check_format=False))


def save(name, **models):
    ExperimentList([Experiment(**models)]).as_file(name)


def turn(axis, degree):
    """matrix of a rotation about an axis"""
    x, y, z = np.array(axis) / np.linalg.norm(axis)
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    angle = math.radians(degree)
    return np.eye(3) + math.sin(angle) * skew + (1 - math.cos(angle)) * skew @ skew


def to_dxtbx(truth):
    """the turn of a run to the frame of dxtbx: the axes of the convention, then the smallest
    turn that takes the beam to -z"""
    along_x = truth["detector"]["convention"] in ("mosflm", "denzo", "custom")
    first = np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]] if along_x
                     else [[-1, 0, 0], [0, 1, 0], [0, 0, -1]])
    beam = first @ truth["beam"]["direction"]
    axis = np.cross(beam, [0, 0, -1])
    sine = np.linalg.norm(axis)
    if sine == 0:
        return first
    return turn(axis, math.degrees(math.atan2(sine, -beam[2]))) @ first


SCENES = {
    "plain": [],
    "tilted": "-detector_rotx 3 -detector_roty -5 -detector_rotz 20 -twotheta 12".split(),
    "beam": "-Xbeam 31 -Ybeam 61.5".split(),
    "near": "-ORGX 11.5 -ORGY 50.25 -pivot sample -twotheta -8".split(),
    "field": "-polar 0.9 -polar_vector 0.3 1 0.4 -spindle_axis 0.1 -0.2 1".split(),
}
BEAMS = {"x": "-beam_vector 1 0.03 -0.05".split(), "z": "-beam_vector 0.03 -0.05 1".split()}


def check_written(program):
    """geometry in dxtbx of -truth, under every convention"""
    detector = Worst("-truth in dxtbx: axes and origin, mm", 1e-9)
    beam = Worst("beam, wavelength and polarization", 1e-9)
    axis = Worst("goniometer and scan", 1e-9)
    crystal = Worst("a, b and c, A", 1e-9)
    for convention in ("mosflm", "denzo", "adxv", "xds", "dials"):
        off_axis = BEAMS["x" if convention in ("mosflm", "denzo") else "z"]
        for name, options in {**SCENES, "off axis": off_axis}.items():
            for scan in (SWEEP, BACKWARDS, STILL):
                where = "-%s, %s, %s" % (convention, name, " ".join(scan))
                truth = described(program, "run.json", *CRYSTAL, *DETECTOR, *scan, "-" + convention,
                                  *options, "-truth", "truth.expt")
                compare(where, truth, load("truth.expt"), scan is not STILL,
                        detector, beam, axis, crystal)
    for quantity in (detector, beam, axis, crystal):
        quantity.report()


def compare(where, truth, found, is_sweep, detector, beam, axis, crystal):
    frame, stated, scan = to_dxtbx(truth), truth["detector"], truth["scan"]
    one = found[0]
    panel = one.detector[0]
    detector.see(where, [panel.get_fast_axis(), panel.get_slow_axis(), panel.get_origin()],
                 [frame @ stated[key] for key in ("fast_axis", "slow_axis", "origin_mm")])
    detector.see(where, [*panel.get_image_size(), *panel.get_pixel_size()],
                 [stated["fast_pixels"], stated["slow_pixels"], stated["pixel_mm"],
                  stated["pixel_mm"]])
    field = np.cross(one.beam.get_polarization_normal(), one.beam.get_unit_s0())
    expected = frame @ truth["beam"]["polarization_axis"]
    expected = expected - expected[2] * np.array([0, 0, 1])  # across the beam
    expected = expected / np.linalg.norm(expected)
    beam.see(where, one.beam.get_unit_s0(), [0, 0, -1])
    beam.see(where, abs(np.dot(field, expected)), 1)
    beam.see(where, [one.beam.get_wavelength(), one.beam.get_polarization_fraction()],
             [truth["beam"]["wavelength_angstrom"],
              (1 + truth["beam"]["polarization"]) / 2])
    axes = frame @ np.reshape(truth["crystal"]["real_axes"], (3, 3)).T
    if is_sweep:  # dxtbx knows no rotation backwards but that about the reverse axis
        sign = math.copysign(1, scan["osc_degree"])
        axis.see(where, one.goniometer.get_rotation_axis(),
                 sign * (frame @ scan["spindle_axis"]))
        axis.see(where, [*one.scan.get_oscillation(), *one.scan.get_image_range()],
                 [sign * scan["phi0_degree"], sign * scan["osc_degree"], 1, 3])
    else:
        axes = turn(frame @ scan["spindle_axis"], scan["phi0_degree"]) @ axes
        axis.see(where, [one.goniometer is None, one.scan is None], [1, 1])
    crystal.see(where, np.transpose(np.reshape(
        [v for row in one.crystal.get_real_space_vectors() for v in row], (3, 3))), axes)


def check_origin(program):
    """the origin of DIALS in -json is that of the experiment beside an SMV"""
    origin = Worst("DIALS origin against -truth of an SMV, mm", 1e-9)
    for convention in ("mosflm", "denzo", "adxv", "xds", "dials"):
        off_axis = BEAMS["x" if convention in ("mosflm", "denzo") else "z"]
        for name, options in {**SCENES, "off axis": off_axis}.items():
            found = described(program, "run.json", *CRYSTAL, *DETECTOR, "-" + convention,
                              *options, "-intfile", "o_1.img", "-truth", "o.expt")
            origin.see("-%s, %s" % (convention, name), found["detector"]["dials_origin_mm"],
                       load("o.expt")[0].detector[0].get_origin())
    origin.report()


def check_images(program):
    """dxtbx finds the images that the experiment names, and reads the same geometry"""
    place = Worst("-truth against the header of the same image: axes and origin, mm", 1e-4)
    run(program, *CRYSTAL, *DETECTOR, *SWEEP, "-seed", "1", "-noisefile", "a_01.img",
        "-intfile", "b_0001.img", "-truth", "truth.expt")
    one = ExperimentListFactory.from_json_file("truth.expt")[0]
    check([os.path.basename(path) for path in one.imageset.paths()]
          == ["a_01.img", "a_02.img", "a_03.img"], "the images with noise are named")
    with open("a_02.img", "rb") as file:
        pixels = np.frombuffer(file.read()[-2 * 61 * 53:], "<u2")
    check(np.array_equal(one.imageset.get_raw_data(1)[0].as_numpy_array().ravel(), pixels),
          "dxtbx reads them")
    header = ExperimentListFactory.from_filenames(["a_01.img"])[0]
    for convention in ("mosflm", "denzo", "xds", "dials"):
        run(program, *CRYSTAL, *DETECTOR, *SWEEP, "-" + convention, "-intfile", "c_01.img",
            "-truth", "c.expt")
        stated, read = (found.detector[0] for found in (load("c.expt")[0],
                        ExperimentListFactory.from_filenames(["c_01.img"])[0]))
        place.see(convention, [stated.get_fast_axis(), stated.get_slow_axis(),
                               stated.get_origin()],
                  [read.get_fast_axis(), read.get_slow_axis(), read.get_origin()])
    place.report()
    check(one.detector[0].get_pedestal() == header.detector[0].get_pedestal() == 40,
          "the pedestal is that of the header")
    below, above = one.detector[0].get_trusted_range()
    check((below, above) == (-40, 65494), "trusted are %g to %g" % (below, above))
    run(program, *CRYSTAL, *DETECTOR, "-osc", "0", "-images", "2", "-intfile", "s_0007.img",
        "-truth", "stills.expt")
    stills = ExperimentListFactory.from_json_file("stills.expt")
    check([os.path.basename(one.imageset.paths()[0]) for one in stills]
          == ["s_0007.img", "s_0008.img"] and all(one.is_still() for one in stills),
          "two stills, two experiments")


def grouped_detector():
    """a panel that is in two groups, each turned and moved against the one around it"""
    detector = Detector()
    root = detector.hierarchy()
    root.set_frame(tuple(turn((1, 2, 3), 20)[:, 0]), tuple(turn((1, 2, 3), 20)[:, 1]),
                   (1, 2, -60))
    group = root.add_group()
    group.set_local_frame((0, 1, 0), (-1, 0, 0), (4, -5, -6))
    inner = group.add_group()
    inner.set_local_frame((0.6, 0.8, 0), (0, 0, 1), (1, 1, 2))
    panel = inner.add_panel()
    panel.set_local_frame((0, 0, -1), (0.8, -0.6, 0), (3, -2, -20))
    panel.set_image_size((61, 53))
    panel.set_pixel_size((1.7, 1.7))
    panel.set_trusted_range((-1, 1e6))
    return detector


def goniometers():
    yield Goniometer((1, 0, 0))
    yield Goniometer((0.6, 0.8, 0), tuple(turn((1, 1, 0), 25).ravel()),
                     tuple(turn((0, 1, 1), -35).ravel()))
    axes = flex.vec3_double([(1, 0, 0), (0.5, 0.5, 0.7071), (0, 1, 0), (-1, 0, 0.2)])
    for scan_axis in range(4):
        yield MultiAxisGoniometer(axes, flex.double([11, -22, 33, 44]),
                                  flex.std_string(["phi", "kappa", "omega", "base"]),
                                  scan_axis)


def crystals():
    axes = turn((3, 1, 2), 40) @ np.array([[50, -5, 3], [0, 60, 4], [0, 0, 70]])
    plain = Crystal(*(tuple(axes[:, i]) for i in range(3)), space_group_symbol="P1")
    yield plain
    kabsch = MosaicCrystalKabsch2010(plain)
    kabsch.set_mosaicity(0.1)
    yield kabsch
    sauter = MosaicCrystalSauter2014(plain)
    sauter.set_half_mosaicity_deg(0.1)
    sauter.set_domain_size_ang(1000)
    yield sauter


def check_read(program):
    """what dxtbx wrote, read by -expt"""
    detector = Worst("-expt: axes and origin of a panel in groups, mm", 1e-9)
    axis = Worst("axis of goniometers", 1e-9)
    crystal = Worst("a, b and c behind goniometers, A", 1e-9)
    beam = Worst("beam and scan", 1e-9)
    back = np.diag([-1, 1, -1])
    beam_model = Beam((0.02, -0.03, 1), 1.03, 0, 0, (0, 1, 0.03), 0.95, float("nan"), 1)
    scan = Scan((5, 14), (13.0, 0.7))
    panels = grouped_detector()
    panel = panels[0]
    for i, goniometer in enumerate(goniometers()):
        for k, sample in enumerate(crystals()):
            name, where = "in.expt", "goniometer %d, crystal %d" % (i, k)
            save(name, beam=beam_model, detector=panels, goniometer=goniometer, scan=scan,
                 crystal=sample)
            found = described(program, "run.json", "-expt", name, "-default_F", "40", "-N", "5",
                              "-gauss_xtal", "-oversample", "1", "-phisteps", "1")
            stated = found["detector"]
            detector.see(where, [stated[key] for key in
                                 ("fast_axis", "slow_axis", "origin_mm")],
                         [back @ v for v in (panel.get_fast_axis(), panel.get_slow_axis(),
                                             panel.get_origin())])
            setting = np.reshape(goniometer.get_setting_rotation(), (3, 3))
            fixed = np.reshape(goniometer.get_fixed_rotation(), (3, 3))
            datum = np.array(goniometer.get_rotation_axis_datum())
            axis.see(where, found["scan"]["spindle_axis"],
                     back @ setting @ datum / np.linalg.norm(datum))
            axes = np.reshape([v for row in sample.get_real_space_vectors() for v in row],
                              (3, 3)).T
            crystal.see(where, np.reshape(found["crystal"]["real_axes"], (3, 3)).T,
                        back @ setting @ fixed @ axes)
            beam.see(where, found["beam"]["direction"], back @ beam_model.get_unit_s0())
            beam.see(where, [found["beam"]["wavelength_angstrom"],
                             found["beam"]["polarization"], found["scan"]["phi0_degree"],
                             found["scan"]["osc_degree"]], [1.03, 0.9, 13, 0.7])
            check((found["crystal"]["mosaic_degree"] > 0) == (k > 0),
                  "mosaic spread %g degree of %s"
                  % (found["crystal"]["mosaic_degree"], type(sample).__name__))
    with open(name) as file:
        check("NaN" in file.read(), "the file has a NaN, which is no JSON")
    for quantity in (detector, axis, crystal, beam):
        quantity.report()


def check_untrusted(program):
    """the untrusted rectangles of dxtbx are the pixels without photons"""
    panels = grouped_detector()
    panels[0].add_mask(1, 2, 30, 4)
    panels[0].add_mask(-2, -1, 1, 1)
    panels[0].add_mask(50, 50, 70, 70)
    save("masked.expt", beam=Beam((0, 0, 1), 1.03), detector=panels,
         crystal=list(crystals())[0])
    run(program, "-expt", "masked.expt", "-default_F", "1e-9", "-N", "1", "-water", "5",
        "-oversample", "1", "-floatfile", "masked.bin")
    trusted = panels[0].get_untrusted_rectangle_mask().as_numpy_array()
    found = np.fromfile("masked.bin", "<f4").reshape(trusted.shape) > 0
    check(np.array_equal(found, trusted),
          "%d untrusted pixels, as in dxtbx" % np.sum(~trusted))


def check_round_trip(program):
    """an image, and the image of its own -truth"""
    image = Worst("the image of -expt truth.expt, of the peak", 1e-9)
    rest = ("-default_F 40 -N 5 -gauss_xtal -fluence 1e28 -oversample 1 -phisteps 2 "
            "-images 3").split()
    for name, options in {**SCENES, "off axis": BEAMS["x"]}.items():
        run(program, *CRYSTAL, *DETECTOR, *SWEEP, *options, "-doublefile", "one_001.bin",
            "-truth", "truth.expt")
        run(program, "-expt", "truth.expt", *rest, "-doublefile", "two_001.bin")
        for i in (1, 2, 3):
            one, two = (np.fromfile("%s_%03d.bin" % (name_of, i))
                        for name_of in ("one", "two"))
            image.see("%s, image %d" % (name, i), two / one.max(), one / one.max())
    image.report()


def check_lattices(program):
    """the crystals of one image: each in dxtbx as if it were alone, and the image of all as
    dxtbx writes it again"""
    image = Worst("the image of the crystals that dxtbx wrote, of the peak", 1e-9)
    crystal = Worst("a, b and c of each crystal of one image, A", 1e-9)
    missets = ("10 20 30", "10.2 19.9 30.3", "12 18 31")
    lattices = [word for one in missets[1:] for word in ("-lattice", *one.split())]
    for scan in (SWEEP, STILL + ["-images", "3"]):
        run(program, *CRYSTAL, *DETECTOR, *scan, *lattices, "-doublefile", "one_001.bin",
            "-truth", "split.expt")
        alone = []
        for one in missets:
            turned = " ".join(CRYSTAL).replace(missets[0], one).split()
            run(program, *turned, *DETECTOR, *scan, "-doublefile", "two_001.bin", "-truth",
                "alone.expt")
            alone.append(load("alone.expt")[0].crystal)
        found = load("split.expt")
        images = 1 if scan is SWEEP else 3
        check(len(found) == 3 * images, "%d experiments of %d images" % (len(found), images))
        check(all(one.beam == found[0].beam and one.detector == found[0].detector
                  and one.scan == found[i // 3 * 3].scan for i, one in enumerate(found)),
              "the crystals of an image share all else")
        for i, one in enumerate(found):
            crystal.see("crystal %d" % i, one.crystal.get_real_space_vectors(),
                        alone[i % 3].get_real_space_vectors())
        ExperimentList(found[:3]).as_file("again.expt")
        run(program, "-expt", "again.expt", "-default_F", "40", "-N", "5", "-gauss_xtal",
            "-fluence", "1e28", "-oversample", "1", *(["-phisteps", "2"] if scan is SWEEP else []),
            "-doublefile", "two.bin")
        one, two = np.fromfile("one_001.bin"), np.fromfile("two.bin")
        image.see(" ".join(scan), two / one.max(), one / one.max())
    crystal.report()
    image.report()


def check_xds(program):
    """XPARM.XDS that dxtbx wrote of our geometry, in another frame"""
    # XPARM.XDS has six decimals of unit vectors and of axes in A
    image = Worst("the image of -xparm, of the peak", 2e-3)
    place = Worst("distance and beam, mm", 2e-4)
    rest = ("-default_F 40 -N 5 -gauss_xtal -fluence 1e28 -oversample 1 -phisteps 2 "
            "-polar 0 -nopolar").split()
    for name in ("plain", "tilted", "beam"):
        truth = described(program, "run.json", *CRYSTAL, *DETECTOR, *SWEEP, "-nopolar", *SCENES[name],
                          "-doublefile", "one_001.bin", "-intfile", "one_001.img", "-truth",
                          "truth.expt")
        one = ExperimentListFactory.from_json_file("truth.expt")[0]
        # the models of the experiment, not those of the header
        one.imageset.set_detector(one.detector)
        text = xds.to_xds(one.imageset).xparm_xds(*one.crystal.get_real_space_vectors(), 1)
        with open("XPARM.XDS", "w") as file:
            file.write(text)
        found = described(program, "run.json", "-xparm", "XPARM.XDS", *rest, "-doublefile", "two.bin")
        for key in ("distance_mm", "close_distance_mm", "direct_beam_mm",
                    "nearest_point_mm"):
            place.see("%s, %s" % (name, key), found["detector"][key],
                      truth["detector"][key])
        image.see(name, np.fromfile("two.bin") / np.fromfile("one_001.bin").max(),
                  np.fromfile("one_001.bin") / np.fromfile("one_001.bin").max())
    for quantity in (image, place):
        quantity.report()


def main():
    program = os.path.abspath(sys.argv[1])
    check_written(program)
    check_origin(program)
    check_images(program)
    check_read(program)
    check_untrusted(program)
    check_round_trip(program)
    check_lattices(program)
    check_xds(program)
    return failures()


if __name__ == "__main__":
    sys.exit(main())
