# SPDX-License-Identifier: MIT
"""The result of a check of derivatives."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np

from . import _arrays
from ._convert import number, record, string, whole
from ._files import Path
from ._lib import ffi, lib
from ._structs import GradcheckRow, GradcheckSummary, Verdict


def plain(value: Any) -> Any:
    """A value as JSON has it; numbers that JSON lacks become texts."""
    if isinstance(value, IntEnum):
        return value.name
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value


class Gradcheck:
    """What `Simulator.gradcheck` found; true if every derivative passed.

    Attributes:
        rows: one for each loss and parameter
        lines: the same as texts
        summary: of the whole check
    """

    def __init__(self, rows: tuple[GradcheckRow, ...], lines: tuple[str, ...], summary: GradcheckSummary) -> None:
        self.rows, self.lines, self.summary = rows, lines, summary

    def __bool__(self) -> bool:
        return self.summary.verdict == Verdict.PASS

    @property
    def failures(self) -> list[str]:
        """The lines of the rows that did not pass."""
        return [line for row, line in zip(self.rows, self.lines, strict=True) if row.verdict != Verdict.PASS]

    def save(self, path: Path) -> None:
        """Write JSON, from which `python -m nanobrag.report` makes a page."""
        content = {"nanobrag_gradcheck": 1, "summary": plain(self.summary), "rows": plain(self.rows)}
        text = json.dumps(content, indent=1).encode()
        from ._files import _called, path_of

        _called(lib.nb_file_write, path_of(path), text, len(text))

    def __repr__(self) -> str:
        passed = sum(row.verdict == Verdict.PASS for row in self.rows)
        state = "passed" if self else f"failed: {self.summary.message}"
        return f"<Gradcheck: {passed} of {len(self.rows)} derivatives right, {state}>"

    def __str__(self) -> str:
        return "\n".join(self.lines)


def run_gradcheck(run: Callable[..., None], pointer: Any, at: Any, bar: Any, given: dict[str, float]) -> Gradcheck:
    """Call nb_gradcheck() with the lock held."""
    options = ffi.new("nb_gradcheck_options *")
    try:
        for name, value in given.items():
            setattr(options, name, number(value, name) if name == "coverage" else whole(value, name))
    except OverflowError:
        raise ValueError(f"{given}: a number does not fit into its type of C") from None
    image, keep = ffi.NULL, None
    if bar is not None:
        image = ffi.new("nb_array *")
        keep = _arrays.describe(bar, image, "bar_image", write=False)
    n = lib.nb_gradcheck_rows(pointer, options)
    rows, summary = ffi.new("nb_gradcheck_row[]", max(n, 1)), ffi.new("nb_gradcheck_summary *")
    run(lib.nb_gradcheck, pointer, at, image, options, rows, summary, what="gradcheck")
    del keep
    line = ffi.new("char[]", 1024)
    lines = []
    for i in range(n):
        lib.nb_gradcheck_line(rows + i, line, 1024)
        lines.append(string(line))
    return Gradcheck(
        tuple(record(GradcheckRow, rows[i]) for i in range(n)),
        tuple(lines),
        record(GradcheckSummary, summary),
    )
