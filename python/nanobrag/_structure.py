# SPDX-License-Identifier: MIT
"""Models of atoms: their structure factors, and the derivatives of these."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arrays
from ._context import Context
from ._convert import fill, record, table, words
from ._files import Hkl, Path, path_of
from ._lib import ffi, lib
from ._structs import Atom, CrystalInfo, Fcalc, System

Floats = NDArray[np.float64]
NUMBERS = 5  # of an atom: x y z B occupancy


def _free(pointer: Any) -> None:
    lib.nb_structure_free(pointer)


def crystal_system(space_group: str, cell: ArrayLike) -> System:
    """Which numbers of a unit cell a space group ties, for `Crystal.system`.

    `Scene.from_cli`, `Scene.from_expt` and `read_xparm` set it by themselves, so that "cell" frees
    what the space group leaves free; System.TRICLINIC frees all.

    Args:
        space_group: Hermann-Mauguin symbol.
        cell: a b c alpha beta gamma, A and degree.

    Returns:
        System.NONE for an unknown group, for a monoclinic one with another unique axis than
        b, and for a cell that contradicts the system.

    >>> crystal_system("P 43 21 2", (58, 58, 150, 90, 90, 90)).name
    'TETRAGONAL'
    """
    numbers = table(cell, np.float64, 0, "cell")
    if len(numbers) != 6:
        raise ValueError(f"cell has {len(numbers)} numbers; expected a b c alpha beta gamma")
    return System(lib.nb_crystal_system(words(space_group, "space_group"), _arrays.pointer(numbers)))


class Structure:
    """A model of atoms from a PDB or mmCIF file; never changes.

    Args:
        path: the file, which may be compressed by gzip.
        threads: 0: the environment decides, else every core.

    Raises:
        FileError: the file cannot be read.
        FormatError: no unit cell, atoms, known space group or known elements.
        UnsupportedError: this build has no gemmi.
    """

    def __init__(self, path: Path, *, threads: int = 0) -> None:
        self._context = Context(threads=threads)
        out = ffi.new("nb_structure **")
        with self._context.making(lib.nb_structure_free, out):
            self._context.run(lib.nb_structure_read, self._context.pointer, path_of(path), out)
        self._pointer = out[0]
        self._path, self._threads = path, threads
        weakref.finalize(self, _free, self._pointer)

    def __len__(self) -> int:
        return int(lib.nb_structure_natom(self._pointer))

    def __repr__(self) -> str:
        return f"<Structure: {len(self)} atoms, {self.crystal.space_group}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _read, (self._path, self._threads)

    @property
    def crystal(self) -> CrystalInfo:
        """Cell (A, degree) and space group of the file."""
        out = ffi.new("nb_crystal_info *")
        lib.nb_structure_crystal(self._pointer, out)
        return record(CrystalInfo, out)

    @property
    def atoms(self) -> list[Atom]:
        """The atoms, in the order of `numbers`."""
        out = ffi.new("nb_atom *")
        found = []
        for i in range(len(self)):
            lib.nb_structure_atom(self._pointer, i, out)
            found.append(record(Atom, out))
        return found

    @property
    def numbers(self) -> Floats:
        """x y z (A), B (A^2) and occupancy of each atom                          (natom, 5)."""
        out = np.empty((len(self), NUMBERS))
        lib.nb_structure_numbers(self._pointer, ffi.from_buffer("double[]", out))
        return out

    def _call(self, function: Callable[..., int], how: Fcalc, x: ArrayLike | None, *args: Any) -> None:
        keep: list[Any] = []
        c = ffi.new("nb_fcalc *")
        fill(how, c, keep, "how")
        at = ffi.NULL if x is None else self._rows(x, "x", keep)
        with self._context.lock:
            self._context.run(function, self._context.pointer, self._pointer, c, at, *args)

    def _rows(self, value: ArrayLike, name: str, keep: list[Any]) -> Any:
        rows = table(value, np.float64, NUMBERS, name)
        if len(rows) != len(self):
            raise ValueError(f"{name} has {len(rows)} rows; expected one for each of {len(self)} atoms")
        keep.append(rows)
        return _arrays.pointer(rows)

    def fcalc(self, how: Fcalc, x: ArrayLike | None = None) -> Hkl:
        """|F| of every reflection up to a resolution.

        Args:
            how: what is calculated; ``Fcalc(dmin=2.0)`` at the least.
            x: the atoms' numbers (natom, 5); None: those of the file.

        Raises:
            ArgumentError: a number out of range, or no reflection up to dmin.
        """
        out = ffi.new("nb_hkl **")
        self._call(lib.nb_structure_fcalc, how, x, out)
        return Hkl._of(out[0])

    def vjp(self, how: Fcalc, hkl: Hkl, bar_f: ArrayLike, x: ArrayLike | None = None) -> Floats:
        """The gradient by the atoms of a function of |F|.

        Args:
            how: as `fcalc` was called with; so is x.
            hkl: the list that it made.
            bar_f: dL/d|F| in the order of ``hkl.arrays()``                      (n,)
            x: the atoms' numbers.

        Returns:
            dL/d(x, y, z, B, occupancy)                                          (natom, 5)
        """
        bar, out = self._factors(hkl, bar_f, "bar_f"), np.zeros((len(self), NUMBERS))
        self._call(lib.nb_structure_vjp, how, x, hkl.pointer, _arrays.pointer(bar), _arrays.pointer(out))
        return out

    def jvp(self, how: Fcalc, hkl: Hkl, dot_x: ArrayLike, x: ArrayLike | None = None) -> Floats:
        """The change of |F| with a change of the atoms' numbers (natom, 5).

        Returns:
            d|F| in the order of ``hkl.arrays()``                                (n,)
        """
        keep: list[Any] = []
        dot, out = self._rows(dot_x, "dot_x", keep), np.zeros(len(hkl))
        self._call(lib.nb_structure_jvp, how, x, hkl.pointer, dot, _arrays.pointer(out))
        return out

    def _factors(self, hkl: Hkl, values: ArrayLike, name: str) -> Floats:
        factors = table(values, np.float64, 0, name)
        if len(factors) != len(hkl):
            raise ValueError(f"{name} has {len(factors)} numbers; expected one for each of {len(hkl)} reflections")
        return factors


def _read(path: Path, threads: int) -> Structure:
    return Structure(path, threads=threads)
