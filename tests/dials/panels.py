"""panels.py - a detector of four tilted panels in two groups through .geom, NXmx and .expt:
origins, axes and groups as dxtbx reads them, and what it writes read again by nanobrag.

Run by the python of DIALS:  panels.py PROGRAM

SPDX-License-Identifier: MIT
"""
import sys

import numpy as np
from dxtbx.model.experiment_list import ExperimentList, ExperimentListFactory

from four_panels import CLEN, CRYSTAL, four_panels, write
from measured import Worst, check, failures, run


def flip(v):
    """a vector of CrystFEL in the frame of dxtbx"""
    return np.array([-v[0], v[1], -v[2]])


def compare(name, detector, panels, groups):
    """the detector is `panels`, in groups if `groups` is 1"""
    origin, axes = Worst(name + ": origins, mm", 1e-9), Worst(name + ": axes", 1e-9)
    check(len(detector) == len(panels), "%s: %d panels" % (name, len(detector)))
    for panel, (at, fast, slow) in zip(detector, panels.values()):
        origin.see(panel.get_name(), panel.get_origin(), flip(at + [0, 0, 1000 * CLEN]))
        axes.see(panel.get_name(), panel.get_fast_axis(), flip(fast))
        axes.see(panel.get_name(), panel.get_slow_axis(), flip(slow))
        check(panel.get_image_size() == (30, 40), "%s: 30 x 40 pixels" % name)
    origin.report()
    axes.report()
    if groups:
        tree = [(g.get_name(), [p.get_name() for p in g]) for g in detector.hierarchy()]
        check(tree == [("q0", ["p0", "p1"]), ("q1", ["p2", "p3"])],
              "%s: groups %s" % (name, tree))


def image(name):
    return np.fromfile(name, np.float32)


def same_image(name, a, b, allowed):
    worst = Worst(name, allowed)
    worst.see("all pixels", image(a) / image(b).max(), image(b) / image(b).max())
    worst.report()


def main(program):
    panels = four_panels()
    write("given.geom", panels)
    run(program, "-geom", "given.geom", *CRYSTAL, "-floatfile", "given.bin", "-nonoise",
        "-imagefile", "p.nxs", "-truth", "p.expt")
    read = ExperimentListFactory.from_filenames(["p.nxs"])
    compare("NXmx", read[0].detector, panels, groups=0)
    counts = read[0].imageset.get_raw_data(0)
    check([c.all() for c in counts] == [(40, 30)] * 4, "NXmx: four arrays of 40 x 30")
    photons = image("given.bin").reshape(4, 40, 30)
    off = max(abs(c.as_numpy_array() - p).max() for c, p in zip(counts, photons))
    check(off == 0 and photons.max() > 1,
          "NXmx: the photons of each panel, up to %.3g, are its own: off by %g" % (photons.max(), off))
    expt = ExperimentList.from_file("p.expt", check_format=False)
    compare(".expt", expt[0].detector, panels, groups=1)

    # what dxtbx writes of both comes back, with and without groups
    expt.as_file("from_expt.expt")
    read.as_file("from_nxmx.expt")
    for name in ("p.expt", "from_expt.expt", "from_nxmx.expt"):
        run(program, "-expt", name, *CRYSTAL, "-floatfile", "again.bin", "-truth", "again.expt",
            "-geomout", "again.geom")
        again = ExperimentList.from_file("again.expt", check_format=False)
        compare(name + ", read and written", again[0].detector, panels, groups="nxmx" not in name)
        if "nxmx" not in name:
            same_image(name + ": the image, of its peak", "again.bin", "given.bin", 1e-6)
    run(program, "-geom", "again.geom", *CRYSTAL, "-floatfile", "again.bin", "-truth", "last.expt")
    compare("NXmx, .expt, .geom", ExperimentList.from_file("last.expt", check_format=False)[0].detector,
            panels, groups=0)
    return failures()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
