# SPDX-License-Identifier: MIT
"""Scenes that the tests share, and the program to compare with."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import nanobrag

ROOT = Path(__file__).parents[2]
CELL = "-cell 50 60 70 80 95 103 -default_F 100 -misset 10 20 30 -fluence 1e28 -seed 1"
BASE = f"{CELL} -N 5 -gauss_xtal -detpixels 64 -pixel 0.4"

# eleven scenes of all shapes, with what is free in each; the images are small, since their
# derivatives are compared one pixel and one parameter after the other
_SMALL = "-detpixels 7 -pixel 2 -distance 60 -lambda 1.1"
MANY = "misset cell rotation distance origin_x origin_y wavelength fluence scale water"
SCENES = {
    "square": (f"{CELL} {_SMALL} -Na 3 -Nb 4 -Nc 2 -water 1", MANY),
    "round": (f"{CELL} {_SMALL} -N 3 -round_xtal -water 1", MANY),
    "gauss": (f"{CELL} {_SMALL} -N 4 -gauss_xtal -water 1", MANY),
    "tophat": (f"{CELL} {_SMALL} -N 4 -tophat_spots -water 1", MANY),
    "gauss_mosaic": (f"{CELL} {_SMALL} -N 4 -gauss_xtal -mosaic 0.5 -mosaic_domains 6 -water 1", MANY + " mosaic"),
    "square_phi": (f"{CELL} {_SMALL} -N 3 -osc 1 -phisteps 4 -water 1", MANY + " phi0 osc"),
    "sources": (f"{CELL} {_SMALL} -N 3 -dispersion 2 -dispsteps 3 -hdivrange 1 -hdivsteps 3 -water 1",
                MANY + " dispersion"),
    "sensor": (f"{CELL} {_SMALL} -N 3 -detector_thick 320 -detector_abs 500 -detector_thicksteps 3 -water 1",
               MANY + " thickness attenuation"),
    "twotheta": (f"{CELL} {_SMALL} -N 4 -gauss_xtal -twotheta 12 -water 1", MANY + " twotheta"),
    "polar": (f"{CELL} {_SMALL} -N 3 -polar 0.7 -water 1", MANY + " polarization"),
    "panels": (f"{CELL} {_SMALL} -N 4 -gauss_xtal -water 1",
               "misset cell rotation wavelength fluence water panel_shift "
               "panel_rot_fast[1] panel_rot_normal[0] group_shift_fast[0]"),
}  # fmt: skip


def pytest_sessionfinish(session, exitstatus):
    """Status 77 for ctest where everything was skipped."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    outcomes = {name for name in ("passed", "failed", "error") if reporter.stats.get(name)}
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED or (not outcomes and reporter.stats.get("skipped")):
        session.exitstatus = 77


def two_panels(scene: nanobrag.Scene) -> nanobrag.Scene:
    """The scene with two stacked panels, of which one is tilted and in a group."""
    c, s = np.cos(0.1), np.sin(0.1)
    panels = [
        nanobrag.Panel(nslow=4, nfast=7, origin=(-7, -8, 60), group=1),
        nanobrag.Panel(nslow=4, nfast=7, origin=(-6.5, 0.5, 60), fast=(c, 0, s), slow=(0, 1, 0)),
    ]
    group = nanobrag.PanelGroup(fast=(1, 0, 0), slow=(0, 1, 0), rotation=(0, 0, 2))
    detector = nanobrag.Detector(panel=panels, group=[group], pixel=2, convention="dials")
    return scene.replace(detector=detector)


@pytest.fixture(params=SCENES)
def varied(request) -> nanobrag.Simulator:
    """Each of the scenes in turn, with its free parameters."""
    command, free = SCENES[request.param]
    sim = nanobrag.Simulator.from_cli(command, free if request.param != "panels" else "", threads=1)
    if request.param == "panels":
        sim = two_panels(sim.scene).simulator(free, threads=1)
    assert sim.nparam >= 15
    assert sim().max() > 0
    return sim


@pytest.fixture(scope="session")
def scene() -> nanobrag.Scene:
    return nanobrag.Scene.from_cli(BASE)


@pytest.fixture
def sim(scene: nanobrag.Scene) -> nanobrag.Simulator:
    return nanobrag.Simulator(scene, "misset cell_a distance", threads=2)


def program() -> str:
    """The path of the program, or a skip."""
    known = [os.environ.get("NANOBRAG", ""), *map(str, sorted(ROOT.glob("build/*/bin/nanobrag")))]
    for path in known:
        if path and os.access(path, os.X_OK):
            return path
    pytest.skip("the program nanobrag was not built (cmake --build build/release)")


@pytest.fixture(scope="session")
def run_program(tmp_path_factory: pytest.TempPathFactory):
    """Runs a command line of the program and returns its image as float32."""
    folder = tmp_path_factory.mktemp("program")

    def run(options: str, shape: tuple[int, int]) -> np.ndarray:
        path = folder / "image.bin"
        subprocess.run([program(), *options.split(), "-floatfile", str(path), "-quiet"], check=True, cwd=folder)
        return np.fromfile(path, np.float32).reshape(shape)

    return run
