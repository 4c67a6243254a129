# SPDX-License-Identifier: MIT
"""Tables of reflections: against PyPI's msgpack, on files that DIALS and others wrote."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

import nanobrag

DATA = Path(__file__).parents[2] / "tests" / "data" / "refl"
MEASURED = os.environ.get("NANOBRAG_MEASURED_DATA", "")
FORMS = {
    "bool": ("?", ()), "int": ("<i4", ()), "std::size_t": ("<u8", ()), "double": ("<f8", ()),
    "vec2<double>": ("<f8", (2,)), "vec3<double>": ("<f8", (3,)), "mat3<double>": ("<f8", (3, 3)),
    "int6": ("<i4", (6,)), "cctbx::miller::index<>": ("<i4", (3,)),
}  # fmt: skip


def unpacked(path):
    msgpack = pytest.importorskip("msgpack")
    kind, version, table = msgpack.unpackb(path.read_bytes(), strict_map_key=False)
    assert (kind, version) == ("dials::af::reflection_table", 1)
    return table


def same(table, other):
    """Compare a table with what msgpack has unpacked; returns the number of columns compared."""
    known = {name: column for name, column in other["data"].items() if column[0] in FORMS}
    assert sorted(table.keys()) == sorted(known)
    for name, (kind, (n, data)) in known.items():
        form, shape = FORMS[kind]
        expected = np.frombuffer(data, form).reshape(n, *shape)
        assert np.array_equal(table[name], expected, equal_nan=form == "<f8"), name
    return len(known)


def files():
    found = [DATA / "columns.refl"]
    return found + sorted(Path(MEASURED).glob("*/*.refl")) if MEASURED else found


@pytest.mark.parametrize("path", files(), ids=lambda p: f"{p.parent.name}/{p.name}")
def test_columns_are_those_of_msgpack(path, tmp_path):
    table, other = nanobrag.Reflections.read(path), unpacked(path)
    assert len(table) == other["nrows"]
    assert same(table, other) >= 9
    assert {n: t for n, t in other["identifiers"].items() if n in table["id"]} == table.identifiers
    table.write(tmp_path / "again.refl")
    again = unpacked(tmp_path / "again.refl")
    assert again == other


def test_made_table(tmp_path):
    columns = {
        "miller_index": np.array([[1, 2, 3], [4, -5, 6]]), "d": [1.5, np.nan], "id": [0, 1],
        "flags": np.array([1, 2**40], dtype="u8"), "used": [True, False], "bbox": np.arange(12).reshape(2, 6),
        "xyzcal.px": np.ones((2, 3)), "setting": np.zeros((2, 3, 3)),
    }  # fmt: skip
    table = nanobrag.Reflections(columns, {0: "zero", 1: "one"})
    table.write(tmp_path / "a.refl")
    (tmp_path / "b.refl").write_bytes(gzip.compress((tmp_path / "a.refl").read_bytes()))
    for name in ("a.refl", "b.refl"):
        found = nanobrag.Reflections.read(tmp_path / name)
        assert list(found) == sorted(columns)
        assert found.identifiers == {0: "zero", 1: "one"}
        for key, values in columns.items():
            assert np.array_equal(found[key], values, equal_nan=key == "d"), key
    with pytest.raises(KeyError):
        table["none"]
    with pytest.raises(ValueError, match="3 rows, expected 2"):
        table["d"] = [1.0, 2.0, 3.0]
    with pytest.raises(TypeError, match="no column"):
        table["d"] = np.ones((2, 5))
    with pytest.raises(nanobrag.FormatError, match=r"not MessagePack"):
        nanobrag.Reflections.read(__file__)
