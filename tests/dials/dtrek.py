"""dtrek.py - headers of d*TREK as dxtbx and nanobrag -img read them: detectors on goniometers
of their own, beam, rotation.

Run by the python of DIALS:  dtrek.py PROGRAM

SPDX-License-Identifier: MIT
"""
import sys

import dxtbx
import numpy as np
from dxtbx.model.experiment_list import ExperimentList

from measured import Worst, failures, run

AXES = "0 0 1 1 0 0 0 1 0 1 0 0 0 1 0 0 0 -1"
UNITS = "deg deg deg mm mm mm"
CRYSTAL = "-cell 50 60 70 -default_F 40 -N 5 -gauss_xtal -fluence 1e28 -oversample 1".split()
CASES = {
    "a swing": {"CCD_GONIO_VALUES": "0 20 0 0 0 45"},
    "backwards": {"CCD_GONIO_VALUES": "0 -12.5 0 0 0 80", "ROTATION_VECTOR": "-1 0 0"},
    "all axes": {"CCD_GONIO_VALUES": "1.5 -7 2.5 3 -4 61"},
    "axes of its own": {"CCD_GONIO_VALUES": "3 15 60", "CCD_GONIO_UNITS": "mm deg mm",
                        "CCD_GONIO_VECTORS": "0 1 0 0.6 0 0.8 0 0 -1", "CCD_GONIO_NUM_VALUES": "3",
                        "CCD_GONIO_NAMES": "up turn away"},
    "turned pixels": {"CCD_DETECTOR_VECTORS": "0 1 0 -1 0 0", "ROTATION": "-4 -3.8 0.2 1 0 0 0 0 0 0"},
    "distortion vectors": {"CCD_SPATIAL_DISTORTION_VECTORS": "0 -1 1 0"},
    "beam beside": {"CCD_SPATIAL_DISTORTION_INFO": "-10.5 70.25 0.09 0.09"},
    "polarized": {"SOURCE_POLARZ": "0.97 0.6 0.8 0"},
}


def write(name, changes):
    keys = {
        "DIM": 2, "BYTE_ORDER": "little_endian", "Data_type": "unsigned short int",
        "SIZE1": 60, "SIZE2": 40, "DETECTOR_NUMBER": 1, "DETECTOR_NAMES": "CCD_",
        "CCD_DETECTOR_DESCRIPTION": "Saturn of a test", "CCD_DETECTOR_DIMENSIONS": "60 40",
        "CCD_DETECTOR_SIZE": "5.4 3.6", "CCD_DETECTOR_VECTORS": "1 0 0 0 1 0",
        "CCD_GONIO_NAMES": "RotZ RotX/Swing RotY TransX TransY TransZ/Dist",
        "CCD_GONIO_NUM_VALUES": 6, "CCD_GONIO_UNITS": UNITS, "CCD_GONIO_VECTORS": AXES,
        "CCD_GONIO_VALUES": "0 0 0 0 0 50", "CCD_SPATIAL_BEAM_POSITION": "31.5 18.25",
        "CCD_SPATIAL_DISTORTION_INFO": "31.5 18.25 0.09 0.09",
        "CCD_SPATIAL_DISTORTION_VECTORS": "1 0 0 1", "CRYSTAL_GONIO_NUM_VALUES": 1,
        "CRYSTAL_GONIO_NAMES": "Omega", "CRYSTAL_GONIO_UNITS": "deg",
        "CRYSTAL_GONIO_VALUES": "0", "ROTATION": "10 10.5 0.5 30 0 0 0 0 0 0",
        "ROTATION_AXIS_NAME": "Omega", "ROTATION_VECTOR": "1 0 0", "SATURATED_VALUE": 65535,
        "SCAN_WAVELENGTH": 1.5418, "SOURCE_WAVELENGTH": "1 1.5418",
        "SOURCE_VECTORS": "0 0 1 0 1 0", "SOURCE_POLARZ": "0.5 0 1 0",
        "DTREK_DATE_TIME": "27-Nov-2026 10:00:00",
    }
    keys.update(changes)
    head = "{\nHEADER_BYTES= 4096;\n" + "".join("%s=%s;\n" % row for row in keys.items()) + "}\n"
    with open(name, "wb") as file:
        file.write(head.encode().ljust(4096))
        file.write(np.arange(2400, dtype="<u2").tobytes())


def main(program):
    worst = {what: Worst(what, allowed) for what, allowed in
             (("origin, mm", 5e-13), ("axes", 2e-15), ("pixel, mm", 1e-12), ("beam", 1e-12),
              ("wavelength, A", 1e-12), ("spindle", 1e-12), ("phi and width", 1e-12),
              ("polarization fraction", 1e-12), ("polarization normal", 1e-12))}
    for i, (name, changes) in enumerate(CASES.items()):
        image = "d_%04d.img" % (i + 1)  # dxtbx remembers what it has read under a name
        write(image, changes)
        there = dxtbx.load(image)
        run(program, "-img", image, *CRYSTAL, "-floatfile", "d.bin", "-truth", "d.expt")
        here = ExperimentList.from_file("d.expt", check_format=False)[0]
        a, b = there.get_detector()[0], here.detector[0]
        worst["origin, mm"].see(name, b.get_origin(), a.get_origin())
        worst["axes"].see(name, b.get_fast_axis() + b.get_slow_axis(),
                          a.get_fast_axis() + a.get_slow_axis())
        worst["pixel, mm"].see(name, b.get_pixel_size() + b.get_image_size(),
                               a.get_pixel_size() + a.get_image_size())
        beam = there.get_beam()
        worst["beam"].see(name, here.beam.get_sample_to_source_direction(),
                          beam.get_sample_to_source_direction())
        worst["wavelength, A"].see(name, here.beam.get_wavelength(), beam.get_wavelength())
        worst["spindle"].see(name, here.goniometer.get_rotation_axis(),
                             there.get_goniometer().get_rotation_axis())
        worst["phi and width"].see(name, here.scan.get_oscillation(),
                                   there.get_scan().get_oscillation())
        worst["polarization fraction"].see(name, here.beam.get_polarization_fraction(),
                                           beam.get_polarization_fraction())
        normal = np.array(here.beam.get_polarization_normal())
        other = np.array(beam.get_polarization_normal())
        worst["polarization normal"].see(name, normal * np.sign(normal @ other), other)
    for each in worst.values():
        each.report()
    return failures()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
