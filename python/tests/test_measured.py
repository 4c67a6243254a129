# SPDX-License-Identifier: MIT
"""Measured images: against numbers drawn again, and against fabio on real images."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

import nanobrag

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
    members = {name for name, _ in nanobrag._lib.ffi.typeof("nb_measured").fields}
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
