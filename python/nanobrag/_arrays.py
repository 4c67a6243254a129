# SPDX-License-Identifier: MIT
"""Arrays of numpy, and of everything with __dlpack__, as nb_array without a copy."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._lib import ffi, lib

_F64 = np.dtype(np.float64)
KINDS = {"f": lib.NB_TYPE_FLOAT, "i": lib.NB_TYPE_INT, "u": lib.NB_TYPE_UINT}
# what may be passed as what: letter of numpy and bits
_TYPES = {
    "f": {("f", 32): "float32", ("f", 64): "float64"},
    "u": {("u", 16): "uint16"},
    "counts": {("u", 16): "uint16", ("i", 32): "int32"},
    "uint16": {("u", 16): "uint16"},
    "int32": {("i", 32): "int32"},
    "float32": {("f", 32): "float32"},
}
_AXES = "two axes (nslow, nfast), or three (npanel, nslow/npanel, nfast)"
_NAMES: dict[str, Any] = {}
_DL_CPU, _DL_CUDA, _DL_CUDA_HOST, _DL_CUDA_MANAGED = 1, 2, 3, 13
_LEGACY_STREAM = 1  # of DLPack: the legacy default stream of CUDA

_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_capsule_valid = ctypes.pythonapi.PyCapsule_IsValid
_capsule_valid.restype = ctypes.c_int
_capsule_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _name(name: str) -> Any:
    found = _NAMES.get(name)
    if found is None:
        found = _NAMES[name] = ffi.new("char[]", name.encode())
    return found


def _from_numpy(array: NDArray[Any], c: Any, name: str, kind: str, write: bool) -> Any:
    dtype = array.dtype
    if (dtype.kind, 8 * dtype.itemsize) not in _TYPES[kind] or not dtype.isnative:
        wanted = " or ".join(_TYPES[kind].values())
        raise TypeError(f"{name} has the type {dtype}; expected {wanted} in the byte order of this machine")
    if array.ndim not in (2, 3):
        raise ValueError(f"{name} has the shape {array.shape}; expected {_AXES}")
    if write and not array.flags.writeable:
        raise ValueError(f"{name} is read-only; pass an array that may be written to")
    c.data = ffi.cast("void *", array.__array_interface__["data"][0])
    c.device, c.device_id = lib.NB_DEVICE_CPU, 0
    c.type, c.bits = KINDS[dtype.kind], 8 * dtype.itemsize
    c.ndim = array.ndim
    for axis in range(array.ndim):
        c.shape[axis] = array.shape[axis]
    if array.flags.c_contiguous:
        c.stride[0] = c.stride[1] = c.stride[2] = 0
    else:
        if any(stride % dtype.itemsize for stride in array.strides):
            steps = " and ".join(str(stride) for stride in array.strides)
            raise ValueError(f"{name} has strides of {steps} bytes; expected multiples of {dtype.itemsize}")
        for axis in range(array.ndim):
            c.stride[axis] = array.strides[axis] // dtype.itemsize
    return array


def _capsule(obj: Any, name: str, device: int) -> Any:
    more = {"stream": _LEGACY_STREAM} if device == _DL_CUDA else {}
    try:
        try:
            return obj.__dlpack__(max_version=(1, 0), **more)
        except TypeError:
            return obj.__dlpack__(**more)
    except (BufferError, RuntimeError) as error:
        raise TypeError(f"{name} cannot be passed on: {error}") from error


def _from_dlpack(obj: Any, c: Any, name: str, kind: str, write: bool) -> Any:
    device, device_id = obj.__dlpack_device__()
    capsule = _capsule(obj, name, device)
    read_only = False
    if _capsule_valid(capsule, b"dltensor_versioned"):
        managed = ffi.cast("nbpy_dl_versioned *", _capsule_pointer(capsule, b"dltensor_versioned"))
        read_only, tensor = bool(managed.flags & 1), managed.tensor
    else:
        # jax's arrays never change, which a capsule without a version does not say
        read_only = type(obj).__module__.partition(".")[0] in ("jax", "jaxlib")
        tensor = ffi.cast("nbpy_dl_tensor *", _capsule_pointer(capsule, b"dltensor"))
    if write and read_only:
        raise ValueError(f"{name} is read-only; pass an array that may be written to")
    if device not in (_DL_CPU, _DL_CUDA, _DL_CUDA_HOST, _DL_CUDA_MANAGED):
        raise TypeError(f"{name} lies on a device of DLPack's type {device}; expected the host or CUDA")
    letter = {0: "i", 1: "u", 2: "f"}.get(tensor.code, "")
    if (letter, tensor.bits) not in _TYPES[kind] or tensor.lanes != 1:
        wanted = " or ".join(_TYPES[kind].values())
        raise TypeError(f"{name} has the type code {tensor.code} of {tensor.bits} bits; expected {wanted}")
    if tensor.ndim not in (2, 3):
        raise ValueError(f"{name} has {tensor.ndim} axes; expected {_AXES}")
    c.data = ffi.cast("char *", tensor.data) + tensor.byte_offset
    c.device, c.device_id = (lib.NB_DEVICE_CUDA, device_id) if device == _DL_CUDA else (lib.NB_DEVICE_CPU, 0)
    c.type, c.bits, c.ndim = KINDS[letter], tensor.bits, tensor.ndim
    for axis in range(tensor.ndim):
        c.shape[axis] = tensor.shape[axis]
        c.stride[axis] = 0 if tensor.strides == ffi.NULL else tensor.strides[axis]
    if c.ndim == 2 and c.stride[1] == 1 and c.stride[0] == c.shape[1]:
        c.stride[0] = c.stride[1] = 0
    return capsule


def is_dense(image: Any, shape: tuple[int, int]) -> bool:
    """Whether an image is a dense, writeable array of numpy in double."""
    if type(image) is not np.ndarray or image.dtype is not _F64 or image.shape != shape:
        return False
    flags = image.flags
    return flags.c_contiguous and flags.writeable


def describe(obj: Any, c: Any, name: str, *, write: bool, kind: str = "f") -> Any:
    """Set an nb_array to the memory of `obj`; returns what keeps that memory alive."""
    if type(obj) is np.ndarray and obj.dtype is _F64 and kind == "f" and obj.ndim == 2:
        flags = obj.flags
        if flags.c_contiguous and (flags.writeable or not write):
            kept = ffi.from_buffer(obj)
            c.data = kept
            c.device, c.device_id, c.type, c.bits, c.ndim = lib.NB_DEVICE_CPU, 0, lib.NB_TYPE_FLOAT, 64, 2
            c.shape[0], c.shape[1] = obj.shape
            c.stride[0] = c.stride[1] = 0
            c.name = _name(name)
            c.flags = 0
            return kept
    c.name = _name(name)
    c.flags = 0
    if isinstance(obj, np.ndarray):
        return _from_numpy(obj, c, name, kind, write)
    if hasattr(obj, "__dlpack__") and hasattr(obj, "__dlpack_device__"):
        return _from_dlpack(obj, c, name, kind, write)
    if write:
        raise TypeError(f"{name}: expected an array of numpy or with __dlpack__, not {type(obj).__name__}")
    try:
        array = np.asarray(obj)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if array.dtype.kind in "iub" and kind == "f":
        raise TypeError(f"{name} has the type {array.dtype}; expected float32 or float64")
    return _from_numpy(array, c, name, kind, write)


def vector(x: Any, n: int, name: str) -> NDArray[np.float64]:
    """One row of n numbers in double, or several, on the host and dense."""
    if type(x) is np.ndarray and x.dtype is _F64 and x.shape == (n,) and x.flags.c_contiguous:
        return x
    if type(x) is not np.ndarray:
        device = getattr(x, "__dlpack_device__", None)
        if device is not None and device()[0] == _DL_CUDA:
            raise TypeError(f"{name} lies on a CUDA device; parameters are read on the host: pass {name}.cpu()")
    array = np.asarray(x)
    if array.dtype is not _F64:
        if array.dtype.kind not in "iuf":
            raise TypeError(f"{name} has the type {array.dtype}; expected real numbers")
        array = array.astype(np.float64)
    shape = array.shape
    if len(shape) not in (1, 2) or shape[-1] != n or shape[0] == 0 < n:
        raise ValueError(f"{name} has the shape {shape}; expected ({n},), or (rows, {n}) for several")
    return np.ascontiguousarray(array)


def pointer(x: NDArray[np.float64]) -> Any:
    """The address of a dense array of doubles."""
    return ffi.from_buffer("double[]", x) if x.size else ffi.NULL
