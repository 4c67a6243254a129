"""formats.py - what dxtbx, fabio and h5py read from NXmx and miniCBF is what was computed:
pixels, geometry, wavelength, scan, mask and sensor.

Run by the python of DIALS:  formats.py PROGRAM
The geometry is worked out here from the vectors of -json, in the words of docs/formats.md.

SPDX-License-Identifier: MIT
"""
import json
import os
import subprocess
import sys
import types

import h5py
import numpy as np
from cctbx.eltbx import attenuation_coefficient
from dxtbx.model.experiment_list import ExperimentList, ExperimentListFactory

try:
    import fabio
except ImportError:
    fabio = None

FAST, SLOW, PIXEL, WAVELENGTH = 61, 48, 0.172, 0.9791
SCENE = ("-cell 50 60 70 90 90 90 -default_F 60 -N 4 -oversample 1 -fluence 3e30 -seed 7 "
         "-detpixels_f %d -detpixels_s %d -pixel %g -distance 70 -lambda %g -quiet"
         % (FAST, SLOW, PIXEL, WAVELENGTH)).split()
SWEEP = "-phi 12.25 -osc 0.35 -phisteps 2 -images 3".split()
STILL = "-phi 31 -images 2 -osc 0".split()
ONE = "-phi -7.5 -osc 0.25 -phisteps 2".split()
failures = 0


def check(good, text):
    global failures
    failures += not good
    print("%s %s" % ("ok    " if good else "not ok", text))


class Worst:
    """the largest deviation of a quantity over many files, and where it was met"""

    def __init__(self, name, allowed):
        self.name, self.allowed = name, allowed
        self.off, self.where, self.count = 0.0, "", 0

    def see(self, where, measured, expected):
        off = float(np.max(np.abs(np.subtract(measured, expected, dtype=float))))
        self.count += 1
        if not off <= self.off:
            self.off, self.where = off, where

    def report(self):
        check(self.count > 0 and self.off <= self.allowed,
              "%s: %d compared, off by at most %.2g (%s), allowed %g"
              % (self.name, self.count, self.off, self.where or "exact", self.allowed))


def run(program, *options, fails=False):
    done = subprocess.run([program, *SCENE, *options], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    if (done.returncode != 0) != fails:
        raise SystemExit("not ok %s: %s" % (" ".join(done.args), done.stderr))
    return done


def truth_of(name):
    with open(name) as file:
        return json.load(file)


# ---- the expected geometry ----

def rotation(axis, angle):
    """matrix of a right-handed rotation about a unit vector"""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def to_dxtbx(truth):
    """the turn from the laboratory of nanobrag to that of dxtbx"""
    convention = truth["detector"]["convention"]
    turn = (np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]])
            if convention in ("mosflm", "denzo", "custom") else np.diag([-1, 1, -1]))
    beam = turn @ truth["beam"]["direction"]
    axis = np.cross(beam, [0, 0, -1])
    sine = np.linalg.norm(axis)
    if sine > 1e-15:
        return rotation(axis / sine, np.arctan2(sine, -beam[2])) @ turn
    return turn if beam[2] < 0 else np.diag([-1, 1, -1]) @ turn


def check_geometry(where, experiment, truth, turn, see):
    detector, beam = truth["detector"], truth["beam"]
    panel = experiment.detector[0]
    see["origin, mm"].see(where, panel.get_origin(), turn @ detector["origin_mm"])
    see["fast axis"].see(where, panel.get_fast_axis(), turn @ detector["fast_axis"])
    see["slow axis"].see(where, panel.get_slow_axis(), turn @ detector["slow_axis"])
    see["beam"].see(where, experiment.beam.get_sample_to_source_direction(), [0, 0, 1])
    see["beam"].see(where, turn @ beam["direction"], [0, 0, -1])
    see["wavelength, A"].see(where, experiment.beam.get_wavelength(),
                             beam["wavelength_angstrom"])
    see["pixel, mm"].see(where, panel.get_pixel_size(), [PIXEL, PIXEL])
    see["pixels"].see(where, panel.get_image_size(), [FAST, SLOW])


def check_scan(where, experiment, truth, turn, see):
    scan = truth["scan"]
    if scan["osc_degree"] == 0:
        check(experiment.scan is None or experiment.scan.is_still(),
              "%s: frames are stills" % where)
        return
    # a rotation by -phi about the reverse of the axis is the same
    axis = np.array(experiment.goniometer.get_rotation_axis())
    sign = 1 if axis @ (turn @ scan["spindle_axis"]) > 0 else -1
    see["spindle"].see(where, sign * axis, turn @ scan["spindle_axis"])
    see["phi, width, degree"].see(where,
                                  np.multiply(sign, experiment.scan.get_oscillation()),
                                  [truth["images"][0]["phi0_degree"], scan["osc_degree"]])
    for i, image in enumerate(truth["images"]):
        see["phi of each frame, degree"].see(
            where, sign * experiment.scan.get_angle_from_array_index(i),
            image["phi0_degree"])


def quantities(program):
    allowed = {"pixel, mm": 1e-12, "pixels": 0, "wavelength, A": 1e-12}
    names = ("origin, mm", "fast axis", "slow axis", "beam", "wavelength, A", "pixel, mm",
             "pixels", "spindle", "phi, width, degree", "phi of each frame, degree",
             "counts")
    return {name: Worst("%s: %s" % (program, name),
                        0 if name == "counts" else allowed.get(name, 1e-9))
            for name in names}


# ---- the expected pixels ----

def smv(name):
    with open(name, "rb") as file:
        data = file.read()
    start = int(data[:40].split(b"HEADER_BYTES=")[1].split(b";")[0])
    return np.frombuffer(data[start:], "<u2").reshape(SLOW, FAST).astype(int)


def counts_of(truth):
    """the noisy images, from the SMV files beside, less their pedestal"""
    names = [[file for file in image["files"] if file.endswith(".img")][0]
             for image in truth["images"]]
    images = [smv(name) - 40 for name in names]
    assert all(image.max() < 65000 and image.max() > 100 for image in images), "exposure"
    return images


def frames_of(imageset):
    return [imageset.get_raw_data(i)[0].as_numpy_array() for i in range(len(imageset))]


# ---- NXmx ----

GEOMETRIES = {
    "mosflm": [],
    "denzo": ["-denzo"],
    "adxv": ["-adxv"],
    "xds": ["-xds"],
    "dials": ["-dials"],
    "corner": "-Xbeam 0 -Ybeam 0".split(),
    "tilted": "-detector_rotx 3 -detector_roty -5 -detector_rotz 11".split(),
    "swung": "-twotheta 25".split(),
    "swung_xds": "-xds -twotheta -40 -detector_rotz 4".split(),
    "beam": "-beam_vector 1 0.02 -0.03".split(),
    "beam_tilted": "-beam_vector 0.1 0.2 1 -detector_rotx 8".split(),
    "spindle": "-spindle_axis 0.1 1 0.3 -adxv".split(),
}


def check_nxmx(program):
    see = quantities("NXmx, dxtbx")
    for name, geometry in GEOMETRIES.items():
        for kind, scan in (("sweep", SWEEP), ("still", STILL), ("one", ONE)):
            where = "%s_%s" % (name, kind)
            run(program, *geometry, *scan, "-imagefile", where + ".nxs", "-noisefile",
                where + "_###.img" if "-images" in scan else where + "_001.img", "-json",
                where + ".json")
            truth = truth_of(where + ".json")
            turn = to_dxtbx(truth)
            found = ExperimentListFactory.from_filenames([where + ".nxs"])
            expected = counts_of(truth)
            frames = [frame for imageset in found.imagesets() for frame in
                      frames_of(imageset)]
            check(len(frames) == len(expected),
                  "%s: %d frames of %d" % (where, len(frames), len(expected)))
            for frame, image in zip(frames, expected):
                see["counts"].see(where, frame, image)
            check_geometry(where, found[0], truth, turn, see)
            check_scan(where, found[0], truth, turn, see)
    for quantity in see.values():
        quantity.report()


def check_backwards(program):
    """a sweep with negative steps turns the crystal as it was computed"""
    see = quantities("NXmx and miniCBF backwards, dxtbx")
    scan = "-phi 10 -osc -0.5 -phisteps 2 -images 3".split()
    reverse = "-spindle_axis 0 0 -1 -mosflm".split()
    for file, read, geometry in (
            ("back.nxs", ["back.nxs"], []),
            ("back_#.cbf", ["back_%d.cbf" % i for i in (1, 2, 3)], reverse)):
        run(program, *scan, *geometry, "-imagefile", file, "-json", "back.json")
        truth = truth_of("back.json")
        found = ExperimentListFactory.from_filenames(read)
        check_geometry(file, found[0], truth, to_dxtbx(truth), see)
        check_scan(file, found[0], truth, to_dxtbx(truth), see)
    del see["counts"]
    for quantity in see.values():
        quantity.report()


def check_compressions(program):
    see = {reader: Worst("compressions, %s: counts" % reader, 0)
           for reader in ("h5py", "dxtbx", "fabio")}
    if fabio is None:
        print("       fabio: skipped, python3-fabio is absent")
        del see["fabio"]
    for compression in ("deflate", "none", "lz4", "bslz4"):
        name = compression + ".h5"
        done = subprocess.run([program, *SCENE, *SWEEP, "-imagefile", name, "-noisefile",
                               compression + "_###.img", "-json", "c.json", "-compression",
                               compression], text=True, stderr=subprocess.PIPE)
        if done.returncode == 2 and "finds no filter" in done.stderr:
            print("       %s: skipped, its filter of HDF5 is absent" % compression)
            check(not os.path.exists(name), "%s: and no file" % compression)
            continue
        check(done.returncode == 0, "%s: written %s" % (compression, done.stderr.strip()))
        expected = counts_of(truth_of("c.json"))
        with h5py.File(name, "r") as file:
            data = file["entry/data/data"]
            see["h5py"].see(name, data[()], expected)
            check(data.chunks == (1, SLOW, FAST), "%s: a chunk is a panel" % name)
            check(file["entry/instrument/detector/data"] == data,
                  "%s: detector/data is the same array" % name)
        found = ExperimentListFactory.from_filenames([name])
        see["dxtbx"].see(name, frames_of(found.imagesets()[0]), expected)
        if fabio is not None:
            with fabio.open(name) as image:
                see["fabio"].see(name, [image.get_frame(i).data for i in range(3)],
                                 expected)
    for quantity in see.values():
        quantity.report()


def check_range(program):
    """trusted range, mask, sensor, thickness"""
    run(program, *ONE, "-imagefile", "roi.nxs", "-roi", "5", "40", "6", "30")
    found = ExperimentListFactory.from_filenames(["roi.nxs"])[0]
    panel = found.detector[0]
    check(panel.get_trusted_range() == (-1, 2147483646), "trusted range")
    mask = found.imageset.get_mask(0)[0].as_numpy_array()
    inside = np.zeros((SLOW, FAST), bool)
    inside[6:31, 5:41] = True
    check((mask == inside).all(), "mask: the pixels that were rendered")
    check(abs(panel.get_thickness() - 1e-6) < 1e-15 and panel.get_material() == "Si",
          "no sensor: 1e-6 mm Si")
    for material, thickness, share in (("Si", 450.0, 1.006), ("CdTe", 750.0, 0.994),
                                       ("GaAs", 500.0, 1.0), ("Si", 450.0, 1.015),
                                       ("CdTe", 750.0, 0.985)):
        table = attenuation_coefficient.get_table(material)
        depth = 1e4 / table.mu_at_angstrom(WAVELENGTH) * share
        for file in ("sensor.nxs", "sensor_1.cbf"):
            if file.endswith("cbf") and material == "GaAs":
                continue
            done = run(program, *ONE, "-imagefile", file, "-detector_abs", repr(depth),
                       "-detector_thick", str(thickness))
            panel = ExperimentListFactory.from_filenames([file])[0].detector[0]
            check(panel.get_material() == material
                  and abs(panel.get_thickness() - thickness / 1000) < 1e-12,
                  "%s: %s, %g mm" % (file, panel.get_material(), panel.get_thickness()))
            truth = ExperimentList.from_file(file.split(".")[0] + "_truth.expt",
                                             check_format=False)[0].detector[0]
            strategy = truth.get_px_mm_strategy()
            check(abs(strategy.t0() * 1000 / thickness - 1) < 1e-12
                  and abs(strategy.mu() * depth / 1000 - 1) < 1e-12,
                  "parallax of the truth: %g mm, %g/mm" % (strategy.t0(), strategy.mu()))
            off = panel.get_mu() * depth / 1000 - 1
            check(("absorption" in done.stderr) == (abs(off) > 0.01),
                  "sensor: dxtbx absorbs otherwise by %.2g, warning: %s"
                  % (off, done.stderr.strip() or "none"))


def spectrum_of(path, index):
    """The spectrum of a frame, by the class that reads it in this version of dxtbx."""
    with h5py.File(path, "r") as file:
        beam = file["entry/instrument/beam"]
        try:
            from dxtbx.format.nexus import BeamFactory
            return BeamFactory(types.SimpleNamespace(handle=beam)).read_models(index)[1]
        except ImportError:
            from dxtbx.nexus import CachedWavelengthBeamFactory
            return CachedWavelengthBeamFactory(types.SimpleNamespace(_handle=beam)).make_spectrum(index)


def check_spectrum(program):
    run(program, *ONE, "-imagefile", "wide.nxs", "-dispersion", "2", "-dispsteps", "5")
    found = ExperimentListFactory.from_filenames(["wide.nxs"])[0]
    check(abs(found.beam.get_wavelength() - WAVELENGTH) < 1e-12, "spectrum: mean wavelength")
    with h5py.File("wide.nxs", "r") as file:
        beam = file["entry/instrument/beam"]
        name = beam["incident_wavelength"].attrs["variant"]
        waves, weights = beam[name][()], beam[name + "_weights"][()]
    spectrum = spectrum_of("wide.nxs", 0)
    energies = np.array(spectrum.get_energies_eV())
    check(len(energies) == 5 and np.allclose(np.array(spectrum.get_weights()), weights)
          and np.allclose(energies * waves, energies[0] * waves[0], rtol=1e-12),
          "spectrum: dxtbx reads it, %s eV" % energies)
    check(name == "incident_wavelength_1Dspectrum" and len(waves) == 5
          and abs(weights.sum() - 1) < 1e-12
          and np.allclose(waves, WAVELENGTH * np.linspace(0.99, 1.01, 5), atol=1e-9),
          "spectrum: %s" % waves)


def check_floats(program):
    run(program, *SWEEP, "-nonoise", "-imagefile", "float.nxs", "-floatfile", "f_#.bin")
    expected = [np.fromfile("f_%d.bin" % i, "<f4").reshape(SLOW, FAST) for i in (1, 2, 3)]
    found = ExperimentListFactory.from_filenames(["float.nxs"])
    worst = Worst("photons without noise, dxtbx", 0)
    worst.see("float.nxs", frames_of(found.imagesets()[0]), expected)
    worst.report()


# ---- miniCBF ----

def check_cbf(program):
    see = quantities("miniCBF, dxtbx")
    sums = Worst("miniCBF, fabio: counts", 0)
    for name in ("mosflm", "denzo", "xds", "corner", "beam"):
        geometry = GEOMETRIES[name]
        if name == "beam":  # a detector at right angles to another beam
            geometry = ("-beam_vector 0 0 1 -fdet_vector 0 1 0 -sdet_vector -1 0 0 "
                        "-odet_vector 0 0 1 -spindle_axis 0 1 0").split()
        for kind, scan in (("sweep", SWEEP), ("one", ONE)):
            where = "cbf_%s_%s" % (name, kind)
            sweep = "-images" in scan
            run(program, *geometry, *scan, "-imagefile",
                where + ("_####.cbf" if sweep else "_0001.cbf"), "-noisefile",
                where + ("_####.img" if sweep else "_0001.img"), "-json", where + ".json")
            truth = truth_of(where + ".json")
            files = [where + "_%04d.cbf" % (i + 1) for i in range(len(truth["images"]))]
            found = ExperimentListFactory.from_filenames(files)
            turn = to_dxtbx(truth)
            # the format has no direction: the fast axis becomes x of dxtbx
            fast = turn @ truth["detector"]["fast_axis"]
            turn = rotation([0, 0, 1], -np.arctan2(fast[1], fast[0])) @ turn
            check_geometry(where, found[0], truth, turn, see)
            check_scan(where, found[0], truth, turn, see)
            panel = found[0].detector[0]
            check(panel.get_type() == "SENSOR_PAD"
                  and abs(panel.get_thickness() - 1e-6) < 1e-15,
                  "%s: a thin array of pixels" % where)
            for file, frame, image in zip(files, frames_of(found.imagesets()[0]),
                                          counts_of(truth)):
                see["counts"].see(file, frame, image)
                if fabio is not None:
                    sums.see(file, fabio.open(file).data, image)
    for quantity in see.values():
        quantity.report()
    if fabio is not None:
        sums.report()


def check_refused(program):
    refused = {
        "a tilted detector": "-detector_roty 1".split(),
        "a mirrored image": ["-adxv"],
        "a spindle": ["-dials"],
        "turns backwards": "-spindle_axis 0 0 -1 -mosflm".split(),
    }
    for what, geometry in refused.items():
        done = run(program, *geometry, *ONE, "-imagefile", "no_1.cbf", fails=True)
        check(done.returncode == 2 and what in done.stderr and ".nxs" in done.stderr
              and not os.path.exists("no_1.cbf"),
              "miniCBF refuses: %s" % done.stderr.strip())


def main():
    program = os.path.abspath(sys.argv[1])
    check_nxmx(program)
    check_backwards(program)
    check_compressions(program)
    check_range(program)
    check_spectrum(program)
    check_floats(program)
    check_cbf(program)
    check_refused(program)
    print("%d failed" % failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
