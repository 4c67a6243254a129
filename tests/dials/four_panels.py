"""four_panels.py - a geometry file of CrystFEL with four tilted panels in two groups, for the
tests of this directory. SPDX-License-Identifier: MIT
"""
import math

import numpy as np

CRYSTAL = "-cell 50 60 70 -default_F 40 -N 5 -gauss_xtal -fluence 1e28 -oversample 1".split()
PIXEL, CLEN, ENERGY = 0.2, 0.0615, 9321.5


def turn(x, y, z):
    """matrix of rotations about x, then y, then z, degree"""
    out = np.eye(3)
    for i, angle in enumerate((x, y, z)):
        c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        j, k = (i + 1) % 3, (i + 2) % 3
        m = np.eye(3)
        m[j, j], m[j, k], m[k, j], m[k, k] = c, -s, s, c
        out = m @ out
    return out


def four_panels():
    """corner (mm, z from clen), fast and slow of four tilted panels"""
    panels = {}
    for i in range(4):
        axes = turn(1 + i, -2 + i, 10 * i - 15)
        middle = np.array([-6.5 if i < 2 else 6.5, 6.5 * (-1) ** i, 0.3 * i])
        corner = middle - PIXEL * (15 * axes[:, 0] + 20 * axes[:, 1])
        panels["p%d" % i] = corner, axes[:, 0], axes[:, 1]
    return panels


def write(name, panels):
    """a file with numbers of 16 digits, as the panels are"""
    with open(name, "w") as file:
        file.write("photon_energy = %r eV\nclen = %r m\nres = %r\n"
                   % (ENERGY, CLEN, 1000 / PIXEL))
        for i, (panel, (corner, fast, slow)) in enumerate(panels.items()):
            file.write("%s/fs = %+.17fx %+.17fy %+.17fz\n" % (panel, *fast))
            file.write("%s/ss = %+.17fx %+.17fy %+.17fz\n" % (panel, *slow))
            file.write("%s/corner_x = %.17g\n" % (panel, corner[0] / PIXEL))
            file.write("%s/corner_y = %.17g\n" % (panel, corner[1] / PIXEL))
            file.write("%s/coffset = %.17g\n" % (panel, corner[2] / 1000))
            file.write("%s/min_fs = 0\n%s/max_fs = 29\n" % (panel, panel))
            file.write("%s/min_ss = %d\n%s/max_ss = %d\n" % (panel, 40 * i, panel, 40 * i + 39))
        file.write("group_q0 = p0,p1\ngroup_q1 = p2,p3\ngroup_all = q0,q1\n")
