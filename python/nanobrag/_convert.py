# SPDX-License-Identifier: MIT
"""Dataclasses to structs of C and back."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence
from enum import IntEnum, IntFlag
from functools import cache
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from . import _structs
from ._base import Record, Struct
from ._lib import ffi

R = TypeVar("R", bound="Record | Struct")
E = TypeVar("E", bound=IntEnum)

_RECORDS: dict[str, type] = {
    kind._c: kind
    for kind in vars(_structs).values()
    if isinstance(kind, type) and issubclass(kind, (Record, Struct)) and hasattr(kind, "_c")
}
# the array whose length a count is
_COUNTS = {"nbox": "box", "nsource": "source", "nstol": "stol", "nanomalous": "anomalous",
           "npanel": "panel", "ngroup": "group", "nlattice": "lattice"}  # fmt: skip
# members that are lists of structs
_LISTS: dict[str, type[Struct]] = {
    "source": _structs.Source, "anomalous": _structs.Anomalous,
    "panel": _structs.Panel, "group": _structs.PanelGroup, "lattice": _structs.Lattice,
}  # fmt: skip


@cache
def _enums(kind: Any) -> dict[str, type[IntEnum] | type[IntFlag]]:
    """The enum of each member that has one, from its annotation."""
    found = {}
    for f in dataclasses.fields(kind):
        first = str(f.type).split(" |")[0]
        enum = getattr(_structs, first, None)
        if isinstance(enum, type) and issubclass(enum, (IntEnum, IntFlag)):
            found[f.name] = enum
    return found


def _tag(ctype: Any) -> str:
    """The name of a struct of C."""
    return str(ctype.cname).removeprefix("struct ")


def choice(enum: type[E], value: str | int, path: str) -> E:
    """A value of an enum, by its name in any case or its number."""
    if isinstance(value, str):
        name = value.upper().replace("-", "_")
        if name in enum.__members__:
            return enum[name]
    elif isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        try:
            return enum(value)
        except ValueError:
            pass
    names = ", ".join(name.lower() for name in enum.__members__)
    raise ValueError(f"{path}: {value!r} is none of {names}")


def number(value: Any, path: str) -> float:
    """A finite or infinite number in double."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{path}: expected a number, not {value!r}") from None


def whole(value: Any, path: str) -> int:
    """A whole number."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{path}: expected a whole number, not {value!r}") from None


def integer(value: Any, path: str, bits: int = 32) -> int:
    """A whole number that fits into a signed integer of C."""
    found = whole(value, path)
    if not -(2 ** (bits - 1)) <= found < 2 ** (bits - 1):
        raise ValueError(f"{path}={found} does not fit into {bits} bits")
    return found


def words(value: Any, path: str) -> bytes:
    """A text as C takes it."""
    if not isinstance(value, str):
        raise TypeError(f"{path}: expected text, not {value!r}")
    if "\0" in value:
        raise ValueError(f"{path}: a text may hold no NUL")
    return value.encode()


def table(value: Any, dtype: Any, columns: int, path: str) -> NDArray[Any]:
    """Rows of so many numbers, dense; columns 0: a list of numbers."""
    try:
        rows = np.asarray(value)
        if rows.dtype.kind not in "biuf":
            raise TypeError
        if np.dtype(dtype).kind == "i" and rows.dtype.kind == "f" and rows.size:
            raise TypeError
    except (TypeError, ValueError):
        raise TypeError(f"{path}: expected numbers of type {np.dtype(dtype)}") from None
    if columns and (rows.ndim != 2 or rows.shape[1] != columns):
        raise ValueError(f"{path} has the shape {rows.shape}; expected (n, {columns})")
    if not columns and rows.ndim != 1:
        raise ValueError(f"{path} has the shape {rows.shape}; expected (n,)")
    return np.ascontiguousarray(rows, dtype=dtype)


def text(value: str, keep: list[Any], path: str) -> Any:
    """A string of C that `keep` keeps alive."""
    out = ffi.new("char[]", words(value, path))
    keep.append(out)
    return out


def _fill_array(c: Any, kind: Any, value: Any, path: str) -> None:
    try:
        values = list(value)
    except TypeError:
        raise TypeError(f"{path}: expected {kind.length} numbers, not {value!r}") from None
    if len(values) != kind.length:
        raise ValueError(f"{path} has {len(values)} numbers; expected {kind.length}")
    for i, item in enumerate(values):
        where = f"{path}[{i}]"
        if kind.item.kind == "array":
            _fill_array(c[i], kind.item, item, where)
        else:
            _set_number(c, i, kind.item, item, where)


def _set_number(c: Any, key: Any, kind: Any, value: Any, path: str) -> None:
    converted: float | int = number(value, path) if kind.cname == "double" else whole(value, path)
    try:
        if isinstance(key, int):
            c[key] = converted
        else:
            setattr(c, key, converted)
    except OverflowError:
        raise ValueError(f"{path}: {value} does not fit into {kind.cname} of C") from None


def image_shape(detector: Any) -> tuple[int, int]:
    """The shape of the image of a detector; where it is not given, that which holds all panels."""
    shape, panels = [detector.nslow, detector.nfast], list(detector.panel)
    stacked = not any(p.slow0 or p.fast0 for p in panels)
    places = [(p.slow0 + p.nslow, p.fast0 + p.nfast) for p in panels]
    if not shape[0] and panels:
        shape[0] = sum(p.nslow for p in panels) if stacked else max(slow for slow, _ in places)
    if not shape[1] and panels:
        shape[1] = max(fast for _, fast in places)
    return shape[0], shape[1]


def _pointed(obj: Any, name: str, value: Any, c: Any, keep: list[Any], path: str) -> Any:
    """What a pointer of a struct is set to, and the count beside it."""
    if name == "hkl":
        from ._files import Hkl

        if not isinstance(value, Hkl):
            raise TypeError(f"{path}: expected an Hkl, not {value!r}")
        keep.append(value)
        return value.pointer
    if isinstance(value, str):
        return text(value, keep, path)
    if name in _LISTS:
        kind = _LISTS[name]
        items = list(value)
        array = ffi.new(f"{kind._c}[]", len(items))
        for i, item in enumerate(items):
            if not isinstance(item, kind):
                raise TypeError(f"{path}[{i}]: expected a {kind.__name__}, not {item!r}")
            fill(item, array[i], keep, f"{path}[{i}]")
        setattr(c, f"n{name}", len(items))
        keep.append(array)
        return array
    if name == "mask":
        rows = np.asarray(value)
        shape = image_shape(obj)
        if rows.dtype != np.bool_ and rows.dtype != np.uint8:
            raise TypeError(f"{path} has the type {rows.dtype}; expected bool or uint8")
        if rows.shape != shape:
            raise ValueError(f"{path} has the shape {rows.shape}; expected (nslow, nfast) = {shape}")
        rows = np.ascontiguousarray(rows).view(np.uint8)
    elif name == "box":
        rows = table(value, np.intc, 4, path)
        c.nbox = len(rows)
    elif name == "stol":
        rows = table(value, np.float64, 2, path)
        c.nstol = len(rows)
    else:
        assert name == "domain_weight", name
        rows = table(value, np.float64, 0, path)
        if len(rows) != obj.ndomains:
            raise ValueError(f"{path} has {len(rows)} weights for ndomains = {obj.ndomains}")
    keep.append(rows)
    return ffi.cast("void *", rows.ctypes.data)


def fill(obj: Struct, c: Any, keep: list[Any], path: str = "") -> None:
    """Set a struct of C from its dataclass; `keep` keeps alive what it points to."""
    enums = _enums(cast(Any, type(obj)))
    for name, member in ffi.typeof(c).fields if ffi.typeof(c).kind == "struct" else ffi.typeof(c).item.fields:
        if _COUNTS.get(name) is not None and hasattr(obj, _COUNTS[name]):
            continue
        value = getattr(obj, name)
        where = f"{path}.{name}" if path else name
        kind = member.type
        if name in enums:
            enum: Any = enums[name]
            if name == "background" and value == 0:
                setattr(c, name, 0)
            elif issubclass(enum, IntFlag):
                setattr(c, name, int(enum(whole(value, where))))
            else:
                setattr(c, name, choice(enum, value, where))
        elif kind.kind == "struct":
            if not isinstance(value, Struct) or value._c != _tag(kind):
                raise TypeError(f"{where}: expected a {_RECORDS[_tag(kind)].__name__}, not {value!r}")
            fill(value, getattr(c, name), keep, where)
        elif kind.kind == "array" and kind.item.cname == "char":
            encoded = value.encode()
            if len(encoded) >= kind.length:
                raise ValueError(f"{where}: {value!r} is longer than {kind.length - 1} letters")
            setattr(c, name, encoded)
        elif kind.kind == "array":
            _fill_array(getattr(c, name), kind, value, where)
        elif kind.kind == "pointer":
            empty = value is None or (isinstance(value, Sequence) and len(value) == 0 and value != "")
            setattr(c, name, ffi.NULL if empty else _pointed(obj, name, value, c, keep, where))
        else:
            _set_number(c, name, kind, value, where)


def string(c: Any) -> str:
    """A string of C; "" for NULL."""
    return ffi.string(c).decode(errors="replace") if c != ffi.NULL else ""


def vector(c: Any, n: int) -> NDArray[np.float64]:
    """A copy of n doubles."""
    if n == 0:
        return np.zeros(0)
    return np.frombuffer(ffi.buffer(c, 8 * n), dtype=np.float64).copy()


def _list(c: Any, kind: Any) -> Any:
    """A fixed array of C as an array of numpy, a tuple of dataclasses, or a text."""
    if kind.item.cname == "char":
        return string(c)
    if kind.item.kind == "struct":
        return tuple(record(_RECORDS[_tag(kind.item)], c[i]) for i in range(kind.length))
    if kind.item.kind == "array":
        return np.array([_list(c[i], kind.item) for i in range(kind.length)])
    dtype = np.float64 if kind.item.cname == "double" else np.int64
    return np.array([c[i] for i in range(kind.length)], dtype=dtype)


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def record(kind: type[R], c: Any, **more: Any) -> R:
    """A dataclass from its struct of C; `more` has the members that are pointers to several."""
    values: dict[str, Any] = dict(more)
    enums = _enums(cast(Any, kind))
    own = {f.name: f for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    ctype = ffi.typeof(c)
    for name, member in ctype.fields if ctype.kind == "struct" else ctype.item.fields:
        if name in values or name not in own:
            continue
        value = getattr(c, name)
        if name in enums:
            try:
                values[name] = enums[name](value)
            except ValueError:
                values[name] = value
        elif member.type.kind == "struct":
            values[name] = record(_RECORDS[_tag(member.type)], value)
        elif member.type.kind == "array":
            values[name] = _list(value, member.type)
            if issubclass(kind, Struct) and isinstance(values[name], np.ndarray):
                values[name] = _tuples(values[name].tolist())
        elif member.type.kind == "pointer":
            nothing = None if "None" in str(own[name].type) else ""
            values[name] = string(value) if value != ffi.NULL else nothing
        else:
            values[name] = value
    return kind(**values)
