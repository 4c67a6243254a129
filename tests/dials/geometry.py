"""geometry.py - where the direct beam is, as dxtbx, fabio and nanobrag's own -img read it
from the headers of our images, under every convention and for several beam centres.

Run by the python of DIALS:  geometry.py PROGRAM
The truth is worked out here from the options by each convention's own definition.

SPDX-License-Identifier: MIT
"""
import os
import sys

import numpy as np
from dxtbx.model.experiment_list import ExperimentListFactory

import measured
from measured import Worst, check, failures

FAST, SLOW, PIXEL = 217, 190, 0.11
DISTANCE, WAVELENGTH, PHI, OSC = 87.5, 0.9791, 12.25, 0.35
CONVENTIONS = ("mosflm", "denzo", "adxv", "xds", "dials")
CRYSTAL = "-cell 50 60 70 90 90 90 -default_F 40 -N 5 -oversample 1".split()
PLACES = {
    "default": [],
    "inside": "-Xbeam 5.5 -Ybeam 14.3".split(),
    "corner": "-Xbeam 0 -Ybeam 0".split(),
    "outside": "-Xbeam -3.2 -Ybeam 30.1".split(),
    "digits": "-Xbeam 7.1234567 -Ybeam 11.7654321".split(),
    "near": "-ORGX 61.25 -ORGY 133.5".split(),
}


def described(program, name, *options):
    return measured.described(program, name, *CRYSTAL, *options)


def true_beam(convention, options):
    """direct beam in pixels from the outer corner of the first pixel: fast, slow"""
    given = dict(zip(options[::2], map(float, options[1::2])))
    if "-ORGX" in given:
        return np.array([given["-ORGX"] - 0.5, given["-ORGY"] - 0.5])
    width, height = FAST * PIXEL, SLOW * PIXEL
    x, y = {"adxv": ((width + PIXEL) / 2, (height - PIXEL) / 2),
            "xds": (width / 2, height / 2),
            "dials": (width / 2, height / 2)}.get(
                convention, ((height + PIXEL) / 2, (width + PIXEL) / 2))
    x, y = given.get("-Xbeam", x), given.get("-Ybeam", y)
    fast, slow = {"mosflm": (y + PIXEL / 2, x + PIXEL / 2), "denzo": (y, x),
                  "adxv": (x, height - y)}.get(convention, (x, y))
    return np.array([fast, slow]) / PIXEL


def geometry(described_run):
    detector = described_run["detector"]
    beam = np.divide(detector["direct_beam_mm"], detector["pixel_mm"])
    near = np.divide(detector["nearest_point_mm"], detector["pixel_mm"])
    return np.array([*beam, *near])


def settings(described_run):
    detector, scan = described_run["detector"], described_run["scan"]
    return [detector["distance_mm"], detector["close_distance_mm"], detector["pixel_mm"],
            detector["fast_pixels"], detector["slow_pixels"],
            described_run["beam"]["wavelength_angstrom"], scan["phi0_degree"],
            scan["osc_degree"]]


def write_images(program):
    """every convention with every place: name of the image -> (convention, beam, truth)"""
    shape = ("-detpixels_f %d -detpixels_s %d -pixel %g -distance %g -lambda %g -phi %g "
             "-osc %g -phisteps 1 -scale 30" % (FAST, SLOW, PIXEL, DISTANCE, WAVELENGTH,
                                                PHI, OSC)).split()
    images = {}
    stated = Worst("direct beam in -json", 1e-9, " pixel")
    for convention in CONVENTIONS:
        for place, options in PLACES.items():
            image = "%s_%s_001.img" % (convention, place)
            truth = described(program, "truth.json", *shape, "-" + convention, *options,
                              "-intfile", image)
            beam = true_beam(convention, options)
            stated.see(image, geometry(truth), [*beam, *beam])
            images[image] = convention, beam, truth
    stated.report()
    return images


def pixels_of(image):
    with open(image, "rb") as file:
        data = file.read()
    start = int(data[:40].split(b"HEADER_BYTES=")[1].split(b";")[0])
    return np.frombuffer(data[start:], "<u2").reshape(SLOW, FAST)


def check_dxtbx(images):
    beam_off = Worst("dxtbx: direct beam", 1e-3, " pixel")
    rest = Worst("dxtbx: distance, wavelength, start, width, pedestal", 1e-6)
    raw = Worst("dxtbx: pixels", 0)
    for image, (_, beam, _) in images.items():
        found = ExperimentListFactory.from_filenames([image])[0]
        panel = found.detector[0]
        beam_off.see(image, panel.get_ray_intersection_px(found.beam.get_s0()), beam)
        rest.see(image, [panel.get_distance(), found.beam.get_wavelength(),
                         *found.scan.get_oscillation(), panel.get_pedestal()],
                 [DISTANCE, WAVELENGTH, PHI, OSC, 40])
        data = found.imageset.get_raw_data(0)[0].as_numpy_array()
        raw.see(image, data, pixels_of(image).astype(int))
    for quantity in (beam_off, rest, raw):
        quantity.report()
    check(len(np.unique(pixels_of(image))) > 10, "the last image holds a picture")


def check_fabio(images):
    try:
        import fabio
    except ImportError:
        print("       fabio: skipped, python3-fabio is absent")
        return
    raw = Worst("fabio %s: pixels" % fabio.version, 0)
    header = Worst("fabio: distance, wavelength, pedestal", 1e-6)
    for image in images:
        found = fabio.open(image)
        raw.see(image, found.data.astype(int), pixels_of(image).astype(int))
        header.see(image, [float(found.header[key]) for key in
                           ("DISTANCE", "WAVELENGTH", "ADC_OFFSET")],
                   [DISTANCE, WAVELENGTH, 40])
    raw.report()
    header.report()


def check_own(program, images):
    """-img and -mask give the geometry back, whatever the convention of the reader"""
    place = Worst("nanobrag -img: direct beam and nearest point", 1e-3, " pixel")
    rest = Worst("nanobrag -img: distances, pixels, wavelength, phi, osc", 1e-6)
    for image, (_, _, truth) in images.items():
        for option in ("-img", "-mask"):
            for convention in CONVENTIONS:
                where = "%s %s -%s" % (option, image, convention)
                again = described(program, "again.json", option, image, "-" + convention)
                place.see(where, geometry(again), geometry(truth))
                rest.see(where, settings(again), settings(truth))
    place.report()
    rest.report()


def frame(described_run):
    detector = described_run["detector"]
    return [*detector["fast_axis"], *detector["slow_axis"],
            *np.divide(detector["origin_mm"], detector["pixel_mm"])]


def check_two_theta(program):
    """a detector on a two theta arm comes back where the convention is the same"""
    whole = Worst("nanobrag -img, two theta: axes and origin", 1e-3, " pixel")
    for convention in CONVENTIONS:
        for pivot in ("beam", "sample"):
            options = ("-detpixels_f %d -detpixels_s %d -pixel %g -distance %g -%s "
                       "-pivot %s" % (FAST, SLOW, PIXEL, DISTANCE, convention,
                                      pivot)).split()
            truth = described(program, "truth.json", *options, *PLACES["inside"],
                              "-twotheta", "15", "-intfile", "swung_001.img")
            again = described(program, "again.json", "-img", "swung_001.img",
                              "-" + convention)
            whole.see("%s, pivot %s" % (convention, pivot), frame(again), frame(truth))
    whole.report()


def check_odd_edge(program):
    """a detector edge that is no multiple of the pixel, and another pedestal"""
    beam = Worst("dxtbx: direct beam where -detsize is no multiple of -pixel", 1e-3,
                 " pixel")
    pedestal = Worst("dxtbx: pedestal of -adc 10", 0)
    for convention in CONVENTIONS:
        truth = described(program, "truth.json", "-" + convention, "-detsize_f", "20.03",
                          "-detsize_s", "15.04", "-intfile", "odd_001.img", "-adc", "10",
                          "-osc", "1", "-phisteps", "1", "-distance", "70")
        found = ExperimentListFactory.from_filenames(["odd_001.img"])[0]
        panel = found.detector[0]
        beam.see(convention, panel.get_ray_intersection_px(found.beam.get_s0()),
                 geometry(truth)[:2])
        pedestal.see(convention, panel.get_pedestal(), 10)
    beam.report()
    pedestal.report()


def check_reference(program):
    """headers as nanoBragg writes them, which lack ADC_OFFSET, in their own convention"""
    place = Worst("nanobrag -img of nanoBragg's header: direct beam", 1e-3, " pixel")
    for convention in CONVENTIONS:
        options = PLACES["near" if convention in ("xds", "dials") else "inside"]
        shape = ("-detpixels_f %d -detpixels_s %d -pixel %g -distance %g -%s"
                 % (FAST, SLOW, PIXEL, DISTANCE, convention)).split()
        truth = described(program, "truth.json", "-compat", "nanobragg", *shape, *options,
                          "-intfile", "reference_001.img")
        again = described(program, "again.json", "-img", "reference_001.img",
                          "-" + convention)
        place.see(convention + " as written", geometry(truth)[:2],
                  true_beam(convention, options))
        place.see(convention, geometry(again), geometry(truth))
    place.report()


def main():
    program = os.path.abspath(sys.argv[1])
    images = write_images(program)
    check_dxtbx(images)
    check_fabio(images)
    check_own(program, images)
    check_two_theta(program)
    check_odd_edge(program)
    check_reference(program)
    return failures()


if __name__ == "__main__":
    sys.exit(main())
