"""stills_process.py - dials.stills_process, where Debian's DIALS lacks the compiled part of xfel
that estimates mosaicity: least squares stand for its likelihood.

SPDX-License-Identifier: MIT
"""
import sys
import types

import numpy as np


class Minimizer:
    """takes the estimates as they are"""

    def __init__(self, d_i, psi_i, eta_rad, Deff):
        self.x = [2 / Deff, eta_rad]


def area(two_thetas, heights):
    order = np.argsort(np.array(two_thetas))
    return float(np.trapz(np.array(heights)[order], np.array(two_thetas)[order]))


try:
    import xfel.mono_simulation  # noqa: F401
except ImportError:
    for name, members in (("xfel.mono_simulation", {}),
                          ("xfel.mono_simulation.max_like", {"minimizer": Minimizer}),
                          ("xfel.mono_simulation.util", {"green_curve_area": area})):
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(members)

from dials.command_line.stills_process import run

run(sys.argv[1:])
