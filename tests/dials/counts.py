"""counts.py - photons of a fit and the pixels that it leaves out, by gain, pedestal,
trusted_range and untrusted rectangles of panels, against the corrected data and the mask of
dxtbx for the same .expt.

Run by the python of DIALS:  counts.py PROGRAM

SPDX-License-Identifier: MIT
"""
import sys

import numpy as np
from dxtbx.model.experiment_list import ExperimentListFactory

from four_panels import CRYSTAL, four_panels, write
from measured import Worst, check, failures, run

# gain, pedestal and trusted range of each panel; its limits are counts that no pixel has
STATED = [(2.5, 300.25, (4700.5, 5000.5)), (1, 0, (-0.5, 1e6)), (7, 0, (4500.5, 9e4)),
          (1, 4400, (-0.5, 4700.5))]


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
    fitted = {}
    for kind in ("model", "residual", "z"):
        run(program, "-expt", "a.expt", *CRYSTAL, "-fit", "scale", "-loss", "gauss",
            "-fit_passes", "2", "-fitimage", kind + ".bin", "-fitimage_kind", kind)
        fitted[kind] = np.fromfile(kind + ".bin", "f4")
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
    return failures()


sys.exit(main())
