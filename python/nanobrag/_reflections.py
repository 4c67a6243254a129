# SPDX-License-Identifier: MIT
"""Tables of reflections of DIALS."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._convert import integer, words
from ._files import Path, _called, path_of
from ._lib import ffi, lib

# type of a column: the numbers of a row, and their shape
_TYPES: dict[int, tuple[str, tuple[int, ...]]] = {
    lib.NB_COLUMN_BOOL: ("?", ()),
    lib.NB_COLUMN_INT: ("<i4", ()),
    lib.NB_COLUMN_SIZE: ("<u8", ()),
    lib.NB_COLUMN_DOUBLE: ("<f8", ()),
    lib.NB_COLUMN_VEC2: ("<f8", (2,)),
    lib.NB_COLUMN_VEC3: ("<f8", (3,)),
    lib.NB_COLUMN_MAT3: ("<f8", (3, 3)),
    lib.NB_COLUMN_INT6: ("<i4", (6,)),
    lib.NB_COLUMN_MILLER: ("<i4", (3,)),
}


def _type_of(values: NDArray[Any]) -> int:
    """The type of a column for an array, by its kind and the shape of a row."""
    kind = {"b": "?", "i": "<i4", "u": "<u8", "f": "<f8"}.get(values.dtype.kind)
    for number, (form, shape) in _TYPES.items():
        if form == kind and values.shape[1:] == shape:
            return number
    raise TypeError(f"DIALS has no column of {values.dtype} in rows of shape {values.shape[1:]}")


class Reflections:
    """A table of reflections, as DIALS writes it (.refl): columns by their name.

    Args:
        columns: arrays with a row for each reflection: bool, whole numbers (signed: int, unsigned:
            std::size_t) or floats (n,), floats (n, 2), (n, 3) or (n, 3, 3), signed whole numbers
            (n, 3) or (n, 6)
        identifiers: of the experiments, by the number that column "id" has for them

    Raises:
        ArgumentError: a name is too long, or there are too many rows.

    >>> table = Reflections({"miller_index": [[1, 2, 3]], "d": [1.5]})
    >>> len(table), table["miller_index"].tolist()
    (1, [[1, 2, 3]])
    """

    def __init__(self, columns: Mapping[str, ArrayLike], identifiers: Mapping[int, str] | None = None) -> None:
        arrays = {name: np.asarray(values) for name, values in columns.items()}
        out = ffi.new("nb_reflections **")
        rows = len(next(iter(arrays.values()))) if arrays else 0
        _called(lib.nb_reflections_create, rows, out)
        self._pointer = ffi.gc(out[0], lib.nb_reflections_free)
        for name, values in arrays.items():
            self[name] = values
        for number, identifier in (identifiers or {}).items():
            text = words(identifier, "identifiers")
            _called(lib.nb_reflections_set_identifier, self._pointer, integer(number, "id"), text)

    @classmethod
    def read(cls, path: Path) -> Reflections:
        """Read a file, plain or compressed by gzip.

        Raises:
            FileError: the file cannot be read.
            FormatError: it is damaged, or no table of reflections.
        """
        out = ffi.new("nb_reflections **")
        _called(lib.nb_reflections_read, path_of(path), out)
        return cls._of(out[0])

    @classmethod
    def _of(cls, pointer: Any) -> Reflections:
        """Take over an nb_reflections of C."""
        self = cls.__new__(cls)
        self._pointer = ffi.gc(pointer, lib.nb_reflections_free)
        return self

    @classmethod
    def join(cls, tables: Iterable[Reflections]) -> Reflections:
        """The rows of all tables, one table after another, in the columns that all of them have."""
        tables = list(tables)
        out = ffi.new("nb_reflections **")
        _called(lib.nb_reflections_join, len(tables), [table._pointer for table in tables], out)
        return cls._of(out[0])

    def write(self, path: Path) -> None:
        """Write a file that DIALS reads.

        Raises:
            FileError: the file cannot be written.
        """
        _called(lib.nb_reflections_write, path_of(path), self._pointer)

    def _columns(self) -> Iterator[Any]:
        for i in range(lib.nb_reflections_columns(self._pointer)):
            yield lib.nb_reflections_column(self._pointer, i)

    def keys(self) -> list[str]:
        """The names of the columns that hold numbers; shoeboxes are kept, and not among them."""
        return [ffi.string(c.name).decode() for c in self._columns() if c.type in _TYPES]

    @property
    def identifiers(self) -> dict[int, str]:
        """The identifiers of the experiments that column "id" numbers."""
        numbers = {int(n) for n in self["id"]} if "id" in self.keys() else set()
        found = {n: lib.nb_reflections_identifier(self._pointer, n) for n in sorted(numbers)}
        return {n: ffi.string(text).decode() for n, text in found.items() if text != ffi.NULL}

    def __len__(self) -> int:
        return int(lib.nb_reflections_rows(self._pointer))

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __getitem__(self, name: str) -> NDArray[Any]:
        text = words(name, "name")
        for number, (form, shape) in _TYPES.items():
            data = lib.nb_reflections_find(self._pointer, text, number)
            if data != ffi.NULL:
                out = np.empty((len(self), *shape), dtype=form)
                ffi.memmove(ffi.from_buffer(out), data, out.nbytes)
                return out
        raise KeyError(name)

    def __setitem__(self, name: str, values: ArrayLike) -> None:
        array = np.asarray(values)
        number = _type_of(array)
        array = np.ascontiguousarray(array, dtype=_TYPES[number][0])
        if len(array) != len(self):
            raise ValueError(f"{name}: {len(array)} rows, expected {len(self)}")
        _called(lib.nb_reflections_set, self._pointer, words(name, "name"), number, ffi.from_buffer(array))
