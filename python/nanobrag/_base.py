# SPDX-License-Identifier: MIT
"""What the dataclasses of _structs.py have in common."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

try:
    from typing import Self
except ImportError:  # Python 3.10
    from typing import TypeVar

    Self = TypeVar("Self")  # type: ignore[misc, assignment]


def same(a: Any, b: Any) -> bool:
    """Whether two values of members are equal, arrays element by element."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        if a is None or b is None:
            return a is b
        return bool(np.array_equal(np.asarray(a), np.asarray(b)))
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(same(i, j) for i, j in zip(a, b, strict=True))
    return bool(a == b)


class _Comparable:
    _c: ClassVar[str]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(
            same(getattr(self, f.name), getattr(other, f.name))
            for f in dataclasses.fields(self)  # type: ignore[arg-type]
        )

    __hash__ = None  # type: ignore[assignment]


class Struct(_Comparable):
    """A struct that a user fills; a member that is 0 has the default of its text."""

    def replace(self, **changes: Any) -> Self:
        """Return a copy with other members.

        A name may reach into a part, as ``detector__distance=90``.
        """
        own: dict[str, Any] = {}
        inner: dict[str, dict[str, Any]] = {}
        for name, value in changes.items():
            part, _, rest = name.partition("__")
            if rest:
                inner.setdefault(part, {})[rest] = value
            else:
                own[name] = value
        for part, values in inner.items():
            own[part] = own.get(part, getattr(self, part)).replace(**values)
        return dataclasses.replace(self, **own)  # type: ignore[type-var]

    def __repr__(self) -> str:
        given = []
        for f in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, f.name)
            default = f.default
            if f.default_factory is not dataclasses.MISSING:
                default = f.default_factory()
            if not same(value, default):
                shown = f"<array {value.shape}>" if isinstance(value, np.ndarray) else repr(value)
                given.append(f"{f.name}={shown}")
        return f"{type(self).__name__}({', '.join(given)})"


class Record(_Comparable):
    """A struct that the library fills."""
