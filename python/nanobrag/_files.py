# SPDX-License-Identifier: MIT
"""Reflections, and the files of the library that numpy cannot read."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arrays
from ._context import Context
from ._convert import choice, fill, integer, number, record, table, words
from ._lib import ffi, lib
from ._structs import CrystalInfo, HklInfo, Merge, Mtz, Profile

Path = str | os.PathLike[str]


def path_of(path: Path) -> bytes:
    """A path as C takes it."""
    found = os.fsencode(path)
    if b"\0" in found:
        raise ValueError(f"a path may hold no NUL: {path!r}")
    return found


def _indices(hkl: Any) -> list[int]:
    found = [integer(index, name) for index, name in zip(hkl, "hkl", strict=False)] if np.iterable(hkl) else []
    if len(found) != 3 or len(hkl) != 3:
        raise TypeError(f"expected three indices h, k, l, not {hkl!r}")
    return found


def _called(function: Callable[..., int], *args: Any) -> None:
    context = Context(threads=1)
    with context.lock:
        context.run(function, context.pointer, *args)


def _free(pointer: Any) -> None:
    lib.nb_hkl_free(pointer)


class Hkl:
    """A list of reflections h k l with their structure factors F, in electrons; never changes.

    Args:
        hkl: h k l of each reflection, whole numbers                           (n, 3)
        f: its structure factor amplitude, electron                            (n,)

    Raises:
        ArgumentError: no reflection, an index out of range, or an F that is not finite.
        FormatError: the indices span more than 2^28 reflections.

    A reflection that is listed twice takes its last F.

    >>> reflections = Hkl([[0, 0, 1], [1, -2, 3]], [10.0, 20.0])
    >>> len(reflections), reflections[1, -2, 3]
    (2, 20.0)
    """

    _atoms: Any = None  # makes the list that another scene needs (_scene.py)

    def __init__(self, hkl: ArrayLike, f: ArrayLike) -> None:
        indices = table(hkl, np.intc, 3, "hkl")
        factors = table(f, np.float64, 0, "f")
        if len(indices) != len(factors):
            raise ValueError(f"hkl has {len(indices)} rows and f {len(factors)} numbers; expected as many")
        out = ffi.new("nb_hkl **")
        rows = ffi.from_buffer("int[]", indices) if indices.size else ffi.NULL
        _called(lib.nb_hkl_create, len(indices), rows, _arrays.pointer(factors), out)
        self._own(out[0])

    def _own(self, pointer: Any) -> None:
        self.pointer = pointer
        weakref.finalize(self, _free, pointer)

    @classmethod
    def _of(cls, pointer: Any) -> Hkl:
        """Take over an nb_hkl of C."""
        self = cls.__new__(cls)
        self._own(pointer)
        return self

    @classmethod
    def _copied(cls, pointer: Any) -> Hkl:
        """Copy an nb_hkl that somebody else owns."""
        n = lib.nb_hkl_reflections(pointer, ffi.NULL, ffi.NULL)
        hkl, f = np.empty((n, 3), dtype=np.intc), np.empty(n)
        lib.nb_hkl_reflections(pointer, ffi.from_buffer("int[]", hkl), ffi.from_buffer("double[]", f))
        return cls(hkl, f)

    @classmethod
    def _read(cls, function: Callable[..., int], path: Path) -> Hkl:
        out = ffi.new("nb_hkl **")
        _called(function, path_of(path), out)
        return cls._of(out[0])

    @classmethod
    def read(cls, path: Path) -> Hkl:
        """Read a text file of lines h k l F.

        Raises:
            FileError: the file cannot be read.
            FormatError: a line is wrong; the text names it.
        """
        return cls._read(lib.nb_hkl_read, path)

    @classmethod
    def read_nanobragg(cls, path: Path) -> Hkl:
        """Read a text file as nanoBragg does: groups h k l F, wherever lines end."""
        return cls._read(lib.nb_hkl_read_nanobragg, path)

    @classmethod
    def read_dump(cls, path: Path) -> Hkl:
        """Read a binary dump (Fdump.bin) of this library or of nanoBragg."""
        return cls._read(lib.nb_fdump_read, path)

    @classmethod
    def read_mtz(cls, path: Path, label: str | None = None, merge: Merge | str = Merge.NONE) -> tuple[Hkl, CrystalInfo]:
        """Read amplitudes of an MTZ, or of an mmCIF of reflections, expanded by its space group.

        Args:
            path: the file, which may be compressed by gzip.
            label: the column, of amplitudes or of intensities, of which F is the square root;
                None for the only one.
            merge: what to do with rows that disagree about F of one reflection.

        Returns:
            The reflections, and cell and space group of the file.

        Raises:
            FormatError: there is no such column, or several and no label; rows disagree; or no
                MTZ.
            UnsupportedError: this build has no gemmi.
        """
        out, info = ffi.new("nb_hkl **"), ffi.new("nb_crystal_info *")
        name, kind = words(label, "label") if label else ffi.NULL, choice(Merge, merge, "merge")
        _called(lib.nb_mtz_read, path_of(path), name, kind, info, out)
        return cls._of(out[0]), record(CrystalInfo, info)

    def write_dump(self, path: Path, default_f: float = 0.0, profile: Profile | str = Profile.NANOBRAG) -> None:
        """Write a binary dump, with `default_f` (electron) for indices that are not listed."""
        kind = choice(Profile, profile, "profile")
        _called(lib.nb_fdump_write, path_of(path), self.pointer, number(default_f, "default_f"), kind)

    def write_mtz(self, path: Path, mtz: Mtz) -> None:
        """Write the asymmetric unit as an MTZ, with phases where a model gave the factors.

        Raises:
            ArgumentError: `mtz` has a cell, space group or label that is none.
            UnsupportedError: this build has no gemmi.
        """
        keep: list[Any] = []
        c = ffi.new("nb_mtz *")
        fill(mtz, c, keep)
        _called(lib.nb_mtz_write, path_of(path), c, self.pointer)

    @property
    def info(self) -> HklInfo:
        """How many were listed, and the smallest and largest h, k, l."""
        out = ffi.new("nb_hkl_info *")
        lib.nb_hkl_info_get(self.pointer, out)
        return record(HklInfo, out)

    def arrays(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return h k l (n, 3) and F (n,), electron, by increasing h, then k, then l."""
        n = len(self)
        hkl, f = np.empty((n, 3), dtype=np.intc), np.empty(n)
        lib.nb_hkl_reflections(self.pointer, ffi.from_buffer("int[]", hkl), ffi.from_buffer("double[]", f))
        return hkl, f

    def __len__(self) -> int:
        return int(lib.nb_hkl_reflections(self.pointer, ffi.NULL, ffi.NULL))

    def __getitem__(self, hkl: tuple[int, int, int]) -> float:
        out = ffi.new("double *")
        h, k, l = _indices(hkl)
        if not lib.nb_hkl_get(self.pointer, h, k, l, out):
            raise KeyError(hkl)
        return float(out[0])

    def __contains__(self, hkl: tuple[int, int, int]) -> bool:
        h, k, l = _indices(hkl)
        return bool(lib.nb_hkl_get(self.pointer, h, k, l, ffi.NULL))

    def __repr__(self) -> str:
        info = self.info
        return f"<Hkl: {len(self)} reflections, {info.min.tolist()} to {info.max.tolist()}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hkl):
            return NotImplemented
        mine, others = self.arrays(), other.arrays()
        return np.array_equal(mine[0], others[0]) and np.array_equal(mine[1], others[1])

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return Hkl, self.arrays()


def read_smv(path: Path) -> tuple[NDArray[np.generic], SmvHeader]:
    """Read an SMV image: counts (nslow, nfast), of the type in the file, and its header.

    Raises:
        FileError: the file cannot be read.
        FormatError: it is no SMV image, or has fewer pixels than its header says.
        UnsupportedError: its pixels are of a type that is not known, or compressed.
    """
    header = SmvHeader(path)
    nfast, nslow, kind, bits = (ffi.new("int *") for _ in range(4))
    lib.nb_smv_image(header._pointer, nfast, nslow, kind, bits)
    counts = np.empty((nslow[0], nfast[0]) if bits[0] else (0, 0))
    if not lib.nb_smv_pixels(header._pointer, ffi.cast("double *", counts.ctypes.data)):
        from ._errors import FormatError

        raise FormatError(f"{os.fspath(path)}: the file has fewer pixels than its header says")
    name = {lib.NB_TYPE_INT: "i", lib.NB_TYPE_UINT: "u", lib.NB_TYPE_FLOAT: "f"}[kind[0]]
    return counts.astype(f"{name}{bits[0] // 8}"), header


class SmvHeader:
    """The numbers of an SMV header, by keyword: ``header["DISTANCE"]``."""

    def __init__(self, path: Path) -> None:
        out = ffi.new("nb_smv **")
        _called(lib.nb_smv_read, path_of(path), out)
        self._pointer = ffi.gc(out[0], lib.nb_smv_free)

    def __getitem__(self, keyword: str) -> float:
        out = ffi.new("double *")
        if not lib.nb_smv_number(self._pointer, keyword.encode(), out):
            raise KeyError(keyword)
        return float(out[0])

    def get(self, keyword: str, default: float | None = None) -> float | None:
        """The number of a keyword, or the default."""
        try:
            return self[keyword]
        except KeyError:
            return default


def write_smv(path: Path, counts: NDArray[np.uint16], header: dict[str, object]) -> None:
    """Write counts (nslow, nfast) as an SMV image; the header gains its length.

    Raises:
        FileError: the file cannot be written.
    """
    lines = words("".join(f"{key}={value};\n" for key, value in header.items()), "header")
    c = ffi.new("nb_array *")
    keep = _arrays.describe(counts, c, "counts", write=False, kind="u")
    _called(lib.nb_smv_write, path_of(path), lines, c)
    del keep


def read_matrix(path: Path) -> NDArray[np.float64]:
    """Read the first nine numbers of a text file as a matrix (3, 3), in the unit of the file."""
    out = ffi.new("double[9]")
    _called(lib.nb_matrix_read, path_of(path), out)
    return np.array(list(out)).reshape(3, 3)
