# SPDX-License-Identifier: MIT
"""The free parameters of a simulator, as a sequence that prints as a table."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from ._convert import record
from ._lib import ffi, lib
from ._structs import Parameter

_COLUMNS = ("name", "value", "unit", "scale", "lower", "upper", "doc")


class Parameters(Sequence[Parameter]):
    """The free parameters, in the order of x; found by number or by name."""

    def __init__(self, rows: Sequence[Parameter]) -> None:
        self._rows = tuple(rows)

    @overload
    def __getitem__(self, key: int | str) -> Parameter: ...
    @overload
    def __getitem__(self, key: slice) -> Parameters: ...
    def __getitem__(self, key: int | str | slice) -> Parameter | Parameters:
        if isinstance(key, str):
            for row in self._rows:
                if row.name == key:
                    return row
            raise KeyError(f"{key!r} is none of the free parameters {', '.join(self.names)}")
        return Parameters(self._rows[key]) if isinstance(key, slice) else self._rows[key]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self._rows)

    @property
    def names(self) -> list[str]:
        """Their names, such as "cell_a"."""
        return [row.name for row in self._rows]

    @property
    def units(self) -> list[str]:
        """Their units."""
        return [row.unit for row in self._rows]

    def _numbers(self, member: str) -> NDArray[np.float64]:
        return np.array([getattr(row, member) for row in self._rows], dtype=np.float64)

    @property
    def values(self) -> NDArray[np.float64]:
        """Their values in the scene."""
        return self._numbers("value")

    @property
    def scales(self) -> NDArray[np.float64]:
        """A change of each that matters."""
        return self._numbers("scale")

    @property
    def lower(self) -> NDArray[np.float64]:
        """Lower bounds, allowed themselves."""
        return self._numbers("lower")

    @property
    def upper(self) -> NDArray[np.float64]:
        """Upper bounds, allowed themselves."""
        return self._numbers("upper")

    def _table(self) -> list[list[str]]:
        def cell(value: object) -> str:
            return f"{value:.10g}" if isinstance(value, float) else str(value)

        return [list(_COLUMNS), *([cell(getattr(row, c)) for c in _COLUMNS] for row in self._rows)]

    def __repr__(self) -> str:
        rows = self._table()
        widths = [max(len(row[i]) for row in rows) for i in range(len(_COLUMNS))]
        lines = ("  ".join(t.ljust(w) for t, w in zip(row, widths, strict=True)).rstrip() for row in rows)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, *rows = self._table()
        cells = "".join(f"<th>{html.escape(c)}</th>" for c in head)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in rows)
        return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def registry() -> Parameters:
    """Every parameter that the library knows; a list has brackets, as "F[h,k,l]".

    >>> registry()["cell_a"].unit
    'A'
    """
    rows: list[Parameter] = []
    c = ffi.new("nb_param *")
    while lib.nb_param_registry(len(rows), c):
        rows.append(record(Parameter, c))
    return Parameters(rows)
