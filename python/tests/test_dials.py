# SPDX-License-Identifier: MIT
"""nanobrag.dials against the library's own reader, where dxtbx is installed."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import nanobrag

DATA = Path(__file__).parents[2] / "tests" / "data" / "cbf"
SCENE = "-cell 50 60 70 90 90 90 -default_F 60 -N 4 -detpixels 32 -fluence 3e30 -distance 70 -lambda 0.98 -osc 0.5"


def test_without_dxtbx(monkeypatch):
    monkeypatch.setitem(sys.modules, "dxtbx.format.Registry", None)
    with pytest.raises(ImportError, match=r"nanobrag.dials needs dxtbx: run it with the Python of DIALS"):
        nanobrag.dials.read_image(DATA / "packed_v2.cbf")


@pytest.fixture
def image(tmp_path):
    """A miniCBF of counts with bad and saturated pixels."""
    pytest.importorskip("dxtbx")
    counts = np.random.default_rng(5).poisson(20, (32, 32)).astype("i4")
    counts[3, 4], counts[5, 6:9] = -1, 2**31 - 1
    nanobrag.write_cbf(nanobrag.Simulator.from_cli(SCENE), tmp_path / "a_0001.cbf", counts)
    return tmp_path / "a_0001.cbf"


def test_the_image_of_the_library(image):
    ours, found = nanobrag.read_image(image), nanobrag.dials.read_image(str(image))
    assert np.array_equal(found.pixels, ours.pixels)
    assert np.array_equal(found.mask, ours.mask)
    assert not found.mask[3, 4]
    assert found.mask[5, 6]
    for name in ("npanel", "frames", "pedestal", "gain"):
        assert getattr(found, name) == getattr(ours, name), name
    for name in ("pixel_fast", "pixel_slow", "wavelength", "distance", "osc_start", "osc_range", "beam_x"):
        assert getattr(found, name) == pytest.approx(getattr(ours, name), rel=1e-6), name


def test_refusals(image, tmp_path):
    with pytest.raises(nanobrag.ArgumentError, match="frame 1 was asked for, expected 0 to 0"):
        nanobrag.dials.read_image(image, 1)
    with pytest.raises(nanobrag.FileError, match="there is no such file"):
        nanobrag.dials.read_image(tmp_path / "b.cbf")
    with pytest.raises(nanobrag.FormatError, match="dxtbx has no reader for it"):
        nanobrag.dials.read_image(__file__)
    image.write_bytes(image.read_bytes()[:-200])
    with pytest.raises(nanobrag.FormatError, match="dxtbx cannot read"):
        nanobrag.dials.read_image(image)


def test_frames_of_hdf5(tmp_path):
    pytest.importorskip("dxtbx")
    if "hdf5" not in nanobrag.features():
        pytest.skip("this build has no HDF5")
    sim = nanobrag.Simulator.from_cli(SCENE.replace(" -osc 0.5", ""))
    counts = np.random.default_rng(6).poisson(5, (2, 32, 32)).astype("i4")
    with nanobrag.Nxmx(sim, tmp_path / "a.nxs", frames=2) as file:
        for frame in counts:
            file.append(frame)
    found = nanobrag.dials.read_image(tmp_path / "a.nxs", 1)
    assert np.array_equal(found.pixels, counts[1])
    assert found.frames == 2
