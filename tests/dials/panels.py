"""panels.py - a detector of four tilted panels in two groups through .geom, NXmx and .expt:
origins, axes and groups as dxtbx reads them, and what it writes read again by nanobrag.

Run by the python of DIALS:  panels.py PROGRAM

SPDX-License-Identifier: MIT
"""
import math
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


def places(n, kind):
    """the rectangle of each of n panels in the array: fast, slow, width, height"""
    rng = np.random.default_rng(n)
    order = rng.permutation(n) if kind != "stacked" else np.arange(n)
    if kind == "beside":
        across = math.ceil(math.sqrt(n))
        return [(11 * (k % across), 8 * (k // across), 8, 6) for k in order]
    height = rng.integers(2, 9, n)
    end = {panel: sum(height[order[:k]]) for k, panel in enumerate(order)}
    return [(0, end[i], 8 if kind == "stacked" else int(3 + i % 7), height[i]) for i in range(n)]


def many(program, n, kind):
    """n panels: dxtbx reads each one's own pixels, and -expt of what it imports places them"""
    panels = places(n, kind)
    with open("many.geom", "w") as file:
        file.write("photon_energy = 9300\nclen = 0.1\nres = 5000\n")
        for i, (f, s, width, height) in enumerate(panels):
            name = "aA"[i % 2] + str(n - i)
            file.write("%s/min_fs = %d\n%s/max_fs = %d\n" % (name, f, name, f + width - 1))
            file.write("%s/min_ss = %d\n%s/max_ss = %d\n" % (name, s, name, s + height - 1))
            file.write("%s/fs = x\n%s/ss = y\n" % (name, name))
            file.write("%s/corner_x = %d\n%s/corner_y = %d\n"
                       % (name, 11 * (i % 12) - 66, name, 11 * (i // 12) - 50))
    # dxtbx takes no polarization from NXmx
    options = (*CRYSTAL, "-nopolar", "-water", "0", "-nonoise")
    run(program, "-geom", "many.geom", *options, "-floatfile", "many.bin",
        "-imagefile", "many.nxs", "-truth", "many.expt")
    read = ExperimentListFactory.from_filenames(["many.nxs"])
    truth = ExperimentList.from_file("many.expt", check_format=False)
    wide = max(f + width for f, _, width, _ in panels)
    whole = image("many.bin").reshape(-1, wide)
    origin = Worst("%d panels, %s: origins, mm" % (n, kind), 1e-9)
    off = 0
    for a, b, counts, (f, s, width, height) in zip(
            read[0].detector, truth[0].detector, read[0].imageset.get_raw_data(0), panels):
        origin.see(b.get_name(), a.get_origin(), b.get_origin())
        own = whole[s:s + height, f:f + width]
        off = max(off, abs(counts.as_numpy_array() - own).max())
    origin.report()
    check(off == 0 and whole.max() > 0, "%d panels, %s: their photons are off by %g" % (n, kind, off))
    read.as_file("imported.expt")
    for name in ("imported.expt", "many.expt"):
        run(program, "-expt", name, *options, "-floatfile", "again.bin")
        check(image("again.bin").size == whole.size, "%s: the same size" % name)
        same_image("%d panels, %s, %s: the image, of its peak" % (n, kind, name),
                   "again.bin", "many.bin", 1e-6)


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
    for n in (10, 11, 101, 128):
        for kind in ("stacked", "shuffled", "beside"):
            many(program, n, kind)
    return failures()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
