"""counts.py - photons of a fit and the pixels that it leaves out, by gain, pedestal,
trusted_range and untrusted rectangles of panels, against the corrected data and the mask of
dxtbx for the same .expt. The same from an NXmx whose pixels have an axis of panels, and with
panels of other names.

Run by the python of DIALS:  counts.py PROGRAM

SPDX-License-Identifier: MIT
"""
import json
import shutil
import sys

import h5py
import numpy as np
from dxtbx.model.experiment_list import ExperimentListFactory

from four_panels import CRYSTAL, four_panels, write
from measured import Worst, check, failures, run

# gain, pedestal and trusted range of each panel; its limits are counts that no pixel has
STATED = [(2.5, 300.25, (4700.5, 5000.5)), (1, 0, (-0.5, 1e6)), (7, 0, (4500.5, 9e4)),
          (1, 4400, (-0.5, 4700.5))]


def fit(program, expt, kind):
    run(program, "-expt", expt, *CRYSTAL, "-fit", "scale", "-loss", "gauss", "-fit_passes", "2",
        "-fitimage", "fit.bin", "-fitimage_kind", kind)
    return np.fromfile("fit.bin", "f4")


def with_axis_of_panels(source, target):
    """a copy of an NXmx of four panels of 40 x 30 pixels, in backward order along their axis"""
    shutil.copy(source, target)
    with h5py.File(target, "r+") as file:
        pixels = file["/entry/data/data"][()]
        del file["/entry/data/data"]
        file["/entry/data/data"] = pixels.reshape(-1, 4, 40, 30)[:, ::-1]
        modules = [m for m in file["/entry/instrument/detector"].values()
                   if m.attrs.get("NX_class") in (b"NXdetector_module", "NXdetector_module")]
        for module in modules:
            slow, fast = module["data_origin"][()]
            size = module["data_size"][()]
            del module["data_origin"], module["data_size"]
            module["data_origin"] = np.array([3 - slow // 40, slow % 40, fast])
            module["data_size"] = np.array([1, *size])
        return len(modules)


def with_names(expt, names, image, target):
    """a copy of an .expt with other names of panels and another image"""
    with open(expt) as file:
        e = json.load(file)
    for panel, name in zip(e["detector"][0]["panels"], names):
        panel["name"] = name
    e["imageset"][0]["images"] = [image]
    with open(target, "w") as file:
        json.dump(e, file)


def main():
    program = sys.argv[1]
    write("four.geom", four_panels())
    run(program, "-geom", "four.geom", *CRYSTAL, "-seed", "1", "-water", "0.3", "-imagefile",
        "a_1.nxs")
    found = ExperimentListFactory.from_filenames(["a_1.nxs"])
    for panel, (gain, pedestal, trusted) in zip(found[0].detector, STATED):
        panel.set_gain(gain)
        panel.set_pedestal(pedestal)
        panel.set_trusted_range(trusted)
    found[0].detector[2].add_mask(3, 4, 9, 20)
    found.as_file("a.expt")
    one = ExperimentListFactory.from_json_file("a.expt")[0]
    fitted = {kind: fit(program, "a.expt", kind) for kind in ("model", "residual", "z")}
    data = fitted["model"].astype(float) + fitted["residual"]
    used = fitted["z"] != 0
    photons, trusted = (
        np.concatenate([tile.as_numpy_array().ravel() for tile in tiles])
        for tiles in (one.imageset.get_corrected_data(0), one.imageset.get_mask(0)))
    check(used.size == trusted.size and (used == trusted).all(),
          "%d of %d pixels used, as in dxtbx" % (used.sum(), used.size))
    check(0.05 < 1 - trusted.mean() < 0.9, "%.3f are not" % (1 - trusted.mean()))
    off = Worst("photons against get_corrected_data()", 1e-5)
    off.see("used pixels", data[used] / photons.max(), photons[used] / photons.max())
    off.report()
    check(with_axis_of_panels("a_1.nxs", "b_1.nxs") == 4, "four modules")
    names = [panel.get_name() for panel in found[0].detector]
    for image in ("a_1.nxs", "b_1.nxs"):
        for called in (names, ["q", "b", "b", "a"]):
            with_names("a.expt", called, image, "c.expt")
            panels = fit(program, "c.expt", "residual").reshape(4, -1)
            panels = panels[::-1] if image == "b_1.nxs" else panels
            check(np.allclose(panels.ravel(), fitted["residual"], atol=1e-3),
                  "%s with panels %s" % (image, called[0]))
    return failures()


sys.exit(main())
