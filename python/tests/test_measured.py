# SPDX-License-Identifier: MIT
"""Measured images: against numbers drawn again, and against fabio on real images."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

import nanobrag
from nanobrag._lib import ffi

DATA = Path(__file__).parents[2] / "tests" / "data" / "cbf"
MEASURED = os.environ.get("NANOBRAG_MEASURED_DATA", "")


def drawn(sections, n):
    """The pixels of the files of CBFlib (tests/data/README.md)."""
    seed, out = 1, []
    for i in range(sections * n):
        seed = (seed * 1664525 + 1013904223) % 2**32
        r = seed >> 8
        out.append(i % n // 7 % 50 + (r % 5000 if r % 9 == 0 else r % 7))
    return np.array(out, float).reshape(-1, 11)


def test_cbf(tmp_path):
    image = nanobrag.read_image(DATA / "packed_v2.cbf")
    assert np.array_equal(image.pixels, drawn(2, 99))
    assert (image.npanel, image.frames, image.mask, image.gain) == (2, 1, None, 1)
    assert np.isnan(image.wavelength)
    assert image.spectrum.size == image.weights.size == 0
    (tmp_path / "a.cbf.gz").write_bytes(gzip.compress((DATA / "packed_v2.cbf").read_bytes()))
    assert nanobrag.image_kind(tmp_path / "a.cbf.gz") == "gzip"
    if "gemmi" in nanobrag.features():
        assert np.array_equal(nanobrag.read_image(tmp_path / "a.cbf.gz").pixels, image.pixels)


def test_hdf5_of_h5py(tmp_path):
    """A master as DECTRIS writes it: external links, units, texts of variable length."""
    if "hdf5" not in nanobrag.features():
        pytest.skip("this build has no HDF5")
    h5py = pytest.importorskip("h5py")
    pixels = np.arange(3 * 4 * 5, dtype="u2").reshape(3, 4, 5)
    for name, part in ("d_1.h5", pixels[:2]), ("d_2.h5", pixels[2:]):
        with h5py.File(tmp_path / name, "w") as file:
            file.create_dataset("/entry/data/data", data=part, chunks=(1, 4, 5), compression="gzip", shuffle=True)
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file["/entry/data/data_000001"] = h5py.ExternalLink("d_1.h5", "/entry/data/data")
        file["/entry/data/data_000002"] = h5py.ExternalLink("d_2.h5", "/entry/data/data")
        detector = file.create_group("/entry/instrument/ELE_D0")
        detector.attrs["NX_class"] = "NXdetector"
        detector["pixel_mask"] = np.eye(4, 5, dtype="u4") * 256
        detector["saturation_value"] = 1000
        detector["distance"] = 0.25
        detector["distance"].attrs["units"] = "m"
        detector["module/fast_pixel_direction"] = detector["module/slow_pixel_direction"] = 0.1
        detector["module"].attrs["NX_class"] = "NXdetector_module"
        for axis in ("fast", "slow"):
            detector[f"module/{axis}_pixel_direction"].attrs["units"] = "mm"
        beam = file.create_group("/entry/instrument/beam")
        beam["incident_wavelength"] = np.array([[1.0, 1.1], [1.2, 1.3], [1.4, 1.5]])
        beam["incident_wavelength_weights"] = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 3.0]])
        sample = file.create_group("/entry/sample")
        sample["depends_on"] = "transformations/phi"
        sample["transformations/phi"] = 7.0
        sample["transformations/phi"].attrs["depends_on"] = "omega"
        sample["transformations/omega"] = np.array([0.0, 0.5, 1.0])
        sample["transformations/omega"].attrs["depends_on"] = "."
    image = nanobrag.read_image(tmp_path / "m.h5", 2)
    assert np.array_equal(image.pixels, pixels[2])
    assert np.array_equal(image.mask, np.eye(4, 5) == 0)
    assert (image.frames, image.overload, image.osc_start, image.osc_range) == (3, 1000, 1.0, 0.5)
    assert np.allclose([image.distance, image.pixel_fast, image.pixel_slow, image.wavelength], [250, 0.1, 0.1, 1.475])
    assert image.spectrum.tolist() == [1.4, 1.5]
    assert image.weights.tolist() == [1.0, 3.0]
    (tmp_path / "d_1.h5").unlink()
    with pytest.raises(nanobrag.FormatError, match=r"data_000001 cannot be opened.*put this file beside it"):
        nanobrag.read_image(tmp_path / "m.h5", 2)


def test_refusals(tmp_path):
    assert nanobrag.image_kind(DATA / "packed_v2.cbf") == "CBF"
    assert nanobrag.image_kind(__file__) is None
    with pytest.raises(nanobrag.ArgumentError, match="frame 1 was asked for, expected 0 to 0"):
        nanobrag.read_image(DATA / "packed_v2.cbf", 1)
    with pytest.raises(nanobrag.FormatError, match="no known kind"):
        nanobrag.read_image(__file__)
    (tmp_path / "cut.cbf").write_bytes((DATA / "packed_v2.cbf").read_bytes()[:-60])
    with pytest.raises(nanobrag.FormatError, match=r"cut\.cbf, section 2: expected"):
        nanobrag.read_image(tmp_path / "cut.cbf")


def test_every_member_has_an_attribute():
    members = {name for name, _ in ffi.typeof("nb_measured").fields}
    assert members - set(nanobrag.MeasuredImage.__dataclass_fields__) == {"nfast", "nslow", "nspectrum"}


@pytest.mark.skipif(not MEASURED, reason="NANOBRAG_MEASURED_DATA is not set")
@pytest.mark.parametrize("pattern", ["l_cysteine/*1.cbf.gz", "thaumatin/*.cbf.bz2"])
def test_pixels_are_those_of_fabio(pattern):
    fabio = pytest.importorskip("fabio")
    for path in sorted(Path(MEASURED).glob(pattern)):
        with fabio.open(path) as other:
            image = nanobrag.read_image(path)
            assert np.array_equal(image.pixels, other.data), path
            assert np.array_equal(image.mask, other.data >= 0), path
