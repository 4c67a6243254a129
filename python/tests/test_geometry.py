# SPDX-License-Identifier: MIT
"""Geometry files of CrystFEL: by the library, and by cfelpyutils."""

from __future__ import annotations

import io
import math
from pathlib import Path

import numpy as np
import pytest

import nanobrag

ROOT = Path(__file__).parents[2]
SAMPLES = {
    "jungfrau": ROOT / "examples" / "data" / "jungfrau.geom",
    "agipd": ROOT / "tests" / "data" / "geometries" / "agipd.geom",
}


def tilted(convention="xds"):
    """A scene with four tilted panels in two groups."""
    groups = [
        nanobrag.PanelGroup(
            name=f"q{i}",
            origin=(9 - 18 * i, 1 - i, 60),
            fast=(math.cos(0.1 - 0.15 * i), 0, math.sin(0.1 - 0.15 * i)),
            slow=(0, 1, 0),
        )
        for i in range(2)
    ]
    panels = []
    for i in range(4):
        c, s = math.cos(0.02 * (1 + i)), math.sin(0.02 * (1 + i))
        panels.append(
            nanobrag.Panel(
                name=f"p{i}",
                nslow=40,
                nfast=30,
                slow0=41 * i,
                fast0=i,
                origin=(-6 + 0.1 * i, 0.3 if i % 2 else -8.7, 0.01 * i),
                fast=(c, s, 0),
                slow=(-s * c, c * c, s),
                group=1 + i // 2,
            )
        )
    return nanobrag.Scene(
        crystal=nanobrag.Crystal(cell=(40, 50, 60, 80, 95, 100), ncells=(5, 5, 5), shape="gauss", default_f=100),
        beam=nanobrag.Beam(wavelength=1.21, fluence=1e28),
        detector=nanobrag.Detector(convention=convention, pixel=0.2, panel=panels, group=groups),
        oversample=1,
    )


def test_written_and_read(tmp_path):
    scene = tilted()
    sim = scene.simulator("panel_shift_fast[1]")
    nanobrag.write_geom(sim, tmp_path / "four.geom")
    geometry = nanobrag.Geometry(tmp_path / "four.geom")
    info = geometry.info
    assert (info.npanel, info.ngroup, info.nslow, info.nfast, info.masked) == (4, 2, 163, 33, 0)
    assert info.distance_from is None
    assert info.wavelength_from is None
    assert abs(info.wavelength - 1.21) < 1e-14
    again = geometry.apply(scene)
    back = again.simulator()
    for i in range(4):
        one, other = sim.panel(i), back.panel(i)
        for member in ("origin", "fast", "slow"):
            assert np.allclose(getattr(one, member), getattr(other, member), rtol=0, atol=1e-9)
        assert (one.name, one.slow0, one.fast0) == (other.name, other.slow0, other.fast0)
    image = sim()
    assert image.max() > 0
    assert np.abs(back() - image).max() <= 1e-10 * image.max()
    # at other parameters: one panel has moved
    nanobrag.write_geom(sim, tmp_path / "moved.geom", [0.25])
    moved = nanobrag.Geometry(tmp_path / "moved.geom").apply(scene).simulator()
    step = np.subtract(moved.panel(1).origin, sim.panel(1).origin)
    assert np.allclose(step, 0.25 * np.asarray(sim.panel(1).fast), rtol=0, atol=1e-9)
    assert np.allclose(moved.panel(2).origin, sim.panel(2).origin, rtol=0, atol=1e-9)


def test_samples_and_masks():
    geometry = nanobrag.Geometry(SAMPLES["jungfrau"])
    scene = geometry.apply(tilted("mosflm"))
    assert scene.detector.mask.shape == (4096, 1024)
    assert np.count_nonzero(scene.detector.mask == 0) == geometry.info.masked > 0
    assert [group.name for group in scene.detector.group][:2] == ["left", "right"]
    assert scene.detector.origin == (150, 0, 0)
    assert nanobrag.Scene.from_cli(
        f"-geom {SAMPLES['agipd']} -cell 50 -default_F 1"
    ).detector.panel[7].name == "p3a1"  # fmt: skip


def test_what_a_file_lacks(tmp_path):
    text = (SAMPLES["agipd"]).read_text()
    path = tmp_path / "a.geom"
    path.write_text(text.replace("clen = 0.1193", "clen = /a/encoder mm").replace("9.3 keV", "/a/energy"))
    geometry = nanobrag.Geometry(path)
    assert (geometry.info.distance_from, geometry.info.wavelength_from) == ("/a/encoder", "/a/energy")
    scene = tilted()
    with pytest.raises(nanobrag.SceneError, match=r"needs detector.distance \(/a/encoder\)"):
        geometry.apply(scene)
    assert geometry.apply(scene.replace(detector__distance=77)).detector.origin == (0, 0, 77)


def test_wrong_files(tmp_path):
    path = tmp_path / "wrong.geom"
    with pytest.raises(nanobrag.FileError, match=r"wrong\.geom"):
        nanobrag.Geometry(path)
    path.write_text("p0/fs = 3q")
    with pytest.raises(nanobrag.FormatError, match=r"wrong\.geom, line 1: fs is '3q'"):
        nanobrag.Geometry(path)
    path.write_text((SAMPLES["agipd"]).read_text() + "colour = blue\n")
    with pytest.warns(nanobrag.NanobragWarning, match="'colour' is not understood"):
        nanobrag.Geometry(path)
    with pytest.raises(nanobrag.FileError):
        nanobrag.write_geom(tilted().simulator(), tmp_path / "none" / "a.geom")


def in_mm(panel):
    """Corner, mm, and axes of a panel of cfelpyutils."""
    pixel = 1000 / panel["res"]
    corner = [panel["cnx"] * pixel, panel["cny"] * pixel, 1000 * (panel["clen"] + panel["coffset"])]
    return corner, [panel["fsx"], panel["fsy"], panel["fsz"]], [panel["ssx"], panel["ssy"], panel["ssz"]]


def test_cfelpyutils_reads_what_is_written(tmp_path):
    geometry = pytest.importorskip("cfelpyutils.geometry", reason="cfelpyutils is not here")
    sim = tilted().simulator()
    nanobrag.write_geom(sim, tmp_path / "four.geom")
    detector, beam, _ = geometry.load_crystfel_geometry(str(tmp_path / "four.geom"))
    assert list(detector["panels"]) == ["p0", "p1", "p2", "p3"]
    assert abs(12398.42 / beam["photon_energy"] - 1.21) < 1e-14
    for i, panel in enumerate(detector["panels"].values()):
        ours = sim.panel(i)
        for measured, expected in zip(in_mm(panel), (ours.origin, ours.fast, ours.slow), strict=True):
            assert np.allclose(measured, expected, rtol=0, atol=1e-9)
        assert (panel["orig_min_fs"], panel["orig_min_ss"]) == (ours.fast0, ours.slow0)
        assert (panel["w"], panel["h"]) == (ours.nfast, ours.nslow)
        assert panel["dim_structure"] == ["%", "ss", "fs"]
    assert detector["rigid_groups"] == {"q0": ["p0", "p1"], "q1": ["p2", "p3"]}
    assert detector["rigid_group_collections"] == {"level0": ["q0", "q1"]}


@pytest.mark.parametrize("name", ["jungfrau", "agipd"])
def test_both_read_the_same(name):
    """What cfelpyutils finds in the samples is where their panels lie."""
    geometry = pytest.importorskip("cfelpyutils.geometry", reason="cfelpyutils is not here")
    path = SAMPLES[name]
    # units are newer than cfelpyutils
    plain = path.read_text().replace("150 mm", "0.15").replace(" eV", "").replace("9.3 keV", "9300")
    detector = geometry.load_crystfel_geometry(io.StringIO(plain)).detector
    sim = nanobrag.Geometry(path).apply(tilted()).simulator()
    for i, panel in enumerate(detector["panels"].values()):
        ours = sim.panel(i)
        corner, fast, slow = in_mm(panel)
        assert np.allclose(corner, ours.origin, rtol=0, atol=1e-9)
        assert np.allclose(fast, ours.fast, rtol=0, atol=1e-4)
        assert np.allclose(slow, ours.slow, rtol=0, atol=1e-4)
