"""geom.py - geometry files of CrystFEL that nanobrag writes, read by DIALS: corners, axes,
groups, distance and wavelength.

Run by the python of DIALS:  geom.py PROGRAM SOURCE
What is expected is worked out here from a text that is written here, and from -json.

SPDX-License-Identifier: MIT
"""
import os
import sys

import numpy as np
from xfel.euxfel.read_geom import PanelGroup, read_geom

from four_panels import CLEN, CRYSTAL, ENERGY, four_panels, write
from measured import Worst, check, described, failures, run


def leaves(node, above=()):
    """the panels below a group: name, panel, names of its groups"""
    for name, child in node.items():
        if isinstance(child, PanelGroup):
            yield from leaves(child, above + (name,))
        else:
            yield name, child, above


def compare(name, file, panels, groups):
    """what DIALS reads from a file is `panels`"""
    corner, axes = Worst(name + ": corners, mm", 1e-9), Worst(name + ": axes", 1e-9)
    read = read_geom(file)
    found = {panel: (node, above) for panel, node, above in leaves(read)}
    check(sorted(found) == sorted(panels), "%s: %d panels" % (name, len(found)))
    for panel, (at, fast, slow) in panels.items():
        node, above = found[panel]
        corner.see(panel, np.array(node["origin"].elems) + [0, 0, read.detector_distance], at)
        axes.see(panel, node["fast"].elems, fast)
        axes.see(panel, node["slow"].elems, slow)
        check(above == groups(panel), "%s: %s is in %s" % (name, panel, "/".join(above)))
    corner.report()
    axes.report()
    return read


def main(program, source):
    panels = four_panels()
    write("given.geom", panels)
    run(program, "-geom", "given.geom", *CRYSTAL, "-floatfile", "f.bin", "-geomout", "out.geom")
    lab = {name: (at + [0, 0, 1000 * CLEN], fast, slow)
           for name, (at, fast, slow) in panels.items()}
    read = compare("four panels", "out.geom", lab,
                   lambda panel: ("q0" if panel in ("p0", "p1") else "q1",))
    # DIALS has other digits of h c
    wavelength = Worst("wavelength, A", 1e-12)
    wavelength.see("four panels", read.incident_wavelength * 12398.42 / 12398.4198,
                   12398.42 / ENERGY)
    wavelength.report()
    # a second time, from what was written
    run(program, "-geom", "out.geom", *CRYSTAL, "-floatfile", "f.bin", "-geomout", "again.geom")
    compare("again", "again.geom", lab, lambda panel: ("q0" if panel in ("p0", "p1") else "q1",))
    # quadrants of modules of chips
    run(program, "-geom", os.path.join(source, "tests/data/geometries/agipd.geom"), *CRYSTAL,
        "-floatfile", "f.bin", "-geomout", "chips.geom")
    depth = {above for _, _, above in leaves(read_geom("chips.geom"))}
    check(depth == {("q0", "m0"), ("q0", "m1"), ("q1", "m2"), ("q1", "m3")},
          "groups within groups: %s" % sorted(depth))
    # a rectangle that is swung out, in the frame of mosflm: (-z, y, x) of CrystFEL
    truth = described(program, "one.json", *CRYSTAL, *"-detpixels_f 61 -detpixels_s 53 -pixel "
                      "1.7 -distance 83 -twotheta 7 -detector_rotx 3 -lambda 1.03".split(),
                      "-floatfile", "f.bin", "-geomout", "one.geom")["detector"]

    def turned(v):
        return np.array([-v[2], v[1], v[0]])

    compare("rectangle", "one.geom",
            {"p0": (turned(truth["origin_mm"]), turned(truth["fast_axis"]), turned(truth["slow_axis"]))},
            lambda panel: ("p0",))
    return failures()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
