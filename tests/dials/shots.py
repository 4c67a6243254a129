"""shots.py - what dxtbx and h5py read of -shots, from one file and through a master: pixels,
wavelength and spectrum of each frame, the photons of its pulse, and a crystal for each.

Run by the python of DIALS:  shots.py PROGRAM
What is expected is worked out here from the tables.

SPDX-License-Identifier: MIT
"""
import subprocess
import sys
import types

import dxtbx
import h5py
import numpy as np
from dxtbx.model.experiment_list import ExperimentList, ExperimentListFactory

NSHOT, SIDE = 5, 48
HC = 12398.42  # eV A, of nanoBragg, by which energies become wavelengths
CELL = [50, 60, 70, 90, 90, 90]
SCENE = ("-cell %g %g %g %g %g %g -default_F 60 -N 4 -oversample 5 -seed 7 -detpixels %d "
         "-pixel 0.5 -distance 70 -quiet" % (*CELL, SIDE)).split()
ENERGIES = np.array([9400.0, 9450, 9500, 9550])
failures = 0


def check(good, text):
    global failures
    failures += not good
    print("%s %s" % ("ok    " if good else "not ok", text))


def near(what, found, expected, allowed):
    off = float(np.max(np.abs(np.subtract(found, expected))))
    check(off <= allowed, "%s: off by %.2g, allowed %g" % (what, off, allowed))


def run(*options):
    subprocess.run([sys.argv[1], *SCENE, *options], check=True)


def table(name, head, rows):
    with open(name, "w") as file:
        file.write(head + "\n" + "".join(" ".join(map(repr, map(float, row))) + "\n" for row in rows))


def write():
    rng = np.random.default_rng(3)
    turns, fluences = rng.uniform(-180, 180, (NSHOT, 3)), rng.uniform(1, 4, NSHOT) * 1e30
    lambdas, weights = rng.uniform(1.2, 1.4, NSHOT), rng.uniform(0.1, 3, (NSHOT, len(ENERGIES)))
    table("shots.txt", "rotation fluence", np.column_stack([turns, fluences]))
    table("waves.txt", "rotation fluence wavelength", np.column_stack([turns, fluences, lambdas]))
    table("spectra.txt", " ".join(map(repr, ENERGIES)), weights)
    return fluences, lambdas, weights


def spectrum_of(path, i):
    """The spectrum of a frame, by the class that reads it in this version of dxtbx."""
    with h5py.File(path) as file:
        beam = file["entry/instrument/beam"]
        try:
            from dxtbx.format.nexus import BeamFactory
            return BeamFactory(types.SimpleNamespace(handle=beam)).read_models(i)[1]
        except ImportError:
            from dxtbx.nexus import CachedWavelengthBeamFactory
            return CachedWavelengthBeamFactory(types.SimpleNamespace(_handle=beam)).make_spectrum(i)


def check_file(name, data, lambdas, weights):
    reader = dxtbx.load(name)
    check(reader.get_num_images() == NSHOT, "%s: %d frames" % (name, reader.get_num_images()))
    raw = [reader.get_raw_data(i) for i in range(NSHOT)]
    raw = [(one[0] if isinstance(one, tuple) else one).as_numpy_array() for one in raw]
    check(all((one == frame).all() for one, frame in zip(raw, data)) and data.max() > 20,
          "%s: the pixels of each frame, up to %d" % (name, data.max()))
    near("%s: wavelength of each frame, A" % name,
         [reader.get_beam(i).get_wavelength() for i in range(NSHOT)], lambdas, 1e-12)
    found = ExperimentListFactory.from_filenames([name])
    check(len(found) == NSHOT and all(one.scan is None or one.scan.is_still() for one in found),
          "%s: %d stills" % (name, len(found)))
    near("%s: those of its experiments, A" % name,
         [one.beam.get_wavelength() for one in found], lambdas, 1e-12)
    if weights is None:
        return
    for i in range(NSHOT):
        spectrum = spectrum_of(name, i)
        order = np.argsort(spectrum.get_energies_eV())
        # its hc is another by 1.3e-8 of it
        near("%s: energies of frame %d, eV" % (name, i),
             np.array(spectrum.get_energies_eV())[order], ENERGIES, 1e-3)
        near("%s: weights of frame %d" % (name, i), np.array(spectrum.get_weights())[order],
             weights[i] / weights[i].sum(), 1e-15)


def check_case(name, options, fluences, lambdas, weights):
    one, parts = name + ".nxs", name + "_master.nxs"
    run(*options, "-imagefile", one)
    run(*options, "-imagefile", parts, "-frames_per_file", "2")
    with h5py.File(one) as file, h5py.File(parts) as master:
        data = file["entry/data/data"][()]
        check(master["entry/data/data"].is_virtual, "%s is a master" % parts)
        for each in (file, master):
            flux = each["entry/instrument/beam/total_flux"][()]
            near("%s: pulses" % each.filename, flux / flux[0], fluences / fluences[0], 1e-14)
    for file in (one, parts):
        check_file(file, data, lambdas, weights)


def check_truth(name, rows):
    """The truth of the master has the crystal of each shot, and finds its image."""
    found = ExperimentList.from_file(name, check_format=True)
    check(len(found) == NSHOT, "%s: %d experiments" % (name, len(found)))
    for i, (experiment, row) in enumerate(zip(found, rows)):
        run("-param", "rotation_x=%r" % row[0], "-param", "rotation_y=%r" % row[1], "-param",
            "rotation_z=%r" % row[2], "-lambda", repr(experiment.beam.get_wavelength()),
            "-imagefile", "one.nxs", "-truth", "one.expt")
        alone = ExperimentList.from_file("one.expt", check_format=False)[0]
        near("%s: crystal %d, A" % (name, i), experiment.crystal.get_real_space_vectors(),
             alone.crystal.get_real_space_vectors(), 1e-12 * max(CELL))
        image = experiment.imageset.get_raw_data(0)[0].as_numpy_array()
        with h5py.File("w_master.nxs") as file:
            check((image == file["entry/data/data"][i]).all(), "%s: image %d" % (name, i))


def main():
    fluences, lambdas, weights = write()
    check_case("w", ["-shots", "waves.txt"], fluences, lambdas, None)
    means = (weights / weights.sum(axis=1, keepdims=True)) @ (HC / ENERGIES)
    check_case("s", ["-shots", "shots.txt", "-spectra", "spectra.txt"], fluences, means, weights)
    check_truth("w_master_truth.expt", np.loadtxt("waves.txt", skiprows=1))
    print("%d failures" % failures)
    return failures != 0


sys.exit(main())
