# SPDX-License-Identifier: MIT
"""The simulator as a function of JAX on the CPU: `simulate`.

The image and the products with its Jacobian are calls of XLA's foreign function interface; the
tangent is a linear primitive whose transpose is the adjoint, so that jit, vmap, grad, jacfwd and
jacrev all work. JAX computes in float32 unless ``jax_enable_x64`` is set.

Second derivatives by the parameters do not exist in the library and raise NotImplementedError.
"""

from __future__ import annotations

import ctypes
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ._lib import ffi, lib
from ._simulator import Simulator, simulator_of

__all__ = ["simulate"]

_TARGET = "nanobrag"
_FORWARD, _JVP, _VJP = range(3)
_DTYPES: dict[int, np.dtype[Any]] = {
    lib.NBPY_XLA_F32: np.dtype(np.float32),
    lib.NBPY_XLA_F64: np.dtype(np.float64),
}
_INVALID_ARGUMENT, _INTERNAL = 3, 13


def _array(buffer: Any) -> np.ndarray[Any, Any]:
    """A buffer of XLA as an array of numpy on the same memory."""
    c = ffi.cast("nbpy_xla_buffer *", buffer)
    dtype = _DTYPES[c.dtype]
    shape = tuple(c.dims[i] for i in range(c.rank))
    size = int(np.prod(shape)) * dtype.itemsize
    if size == 0:
        return np.zeros(shape, dtype)
    return np.frombuffer(ffi.buffer(c.data, size), dtype).reshape(shape)


def _attributes(frame: Any) -> dict[str, int]:
    found = {}
    for i in range(frame.attrs.size):
        name = ffi.buffer(frame.attrs.names[i].ptr, frame.attrs.names[i].len)[:].decode()
        scalar = ffi.cast("nbpy_xla_scalar *", frame.attrs.attrs[i])
        found[name] = int(ffi.cast("int64_t *", scalar.value)[0])
    return found


def _compute(frame: Any) -> None:
    attributes = _attributes(frame)
    sim = simulator_of(str(attributes["key"]))
    kind = attributes["kind"]
    args = [_array(frame.args.args[i]) for i in range(frame.args.size)]
    out = _array(frame.rets.rets[0])
    n = sim.nparam
    rows = np.ascontiguousarray(args[0].reshape(-1, n), dtype=np.float64)
    if not len(rows):
        return
    if kind == _FORWARD:
        sim(rows, out.reshape(-1, *sim.shape))
        return
    # neighbours at the same x share a pass over the samples
    starts = [0, *(i for i in range(1, len(rows)) if not np.array_equal(rows[i], rows[i - 1]))]
    for first, last in zip(starts, [*starts[1:], len(rows)], strict=True):
        if kind == _JVP:
            directions = args[1].reshape(-1, n)[first:last]
            sim.jvp(rows[first], directions, out.reshape(-1, *sim.shape)[first:last])
        else:
            bars = args[1].reshape(-1, *sim.shape)[first:last]
            out.reshape(-1, n)[first:last] = sim.vjp(rows[first], bars)


def _error(frame: Any, code: int, message: str) -> Any:
    text = ffi.new("char[]", message.encode())
    args = ffi.new("nbpy_xla_error_args *")
    args.struct_size = ffi.sizeof("nbpy_xla_error_args")
    args.message, args.errc = text, code
    return frame.api.error_create(args)


@ffi.def_extern()  # type: ignore[untyped-decorator]
def nbpy_xla(frame: Any) -> Any:
    extension = ffi.cast("nbpy_xla_metadata_extension *", frame.extension_start)
    if extension != ffi.NULL and extension.base.type == 1:
        # asked what it was made for: whatever asks, since all that is read here is stable
        extension.metadata.api_version.major_version = 0
        extension.metadata.api_version.minor_version = frame.api.version.minor_version if frame.api else 0
        extension.metadata.traits = 0
        return ffi.NULL
    try:
        _compute(frame)
    except ValueError as error:
        return _error(frame, _INVALID_ARGUMENT, str(error))
    except BaseException as error:
        return _error(frame, _INTERNAL, f"{type(error).__name__}: {error}")
    return ffi.NULL


_address = ctypes.cast(int(ffi.cast("intptr_t", ffi.addressof(lib, "nbpy_xla"))), ctypes.c_void_p)
jax.ffi.register_ffi_target(_TARGET, jax.ffi.pycapsule(_address), platform="cpu")


def _call(x: Any, *more: Any, sim: Simulator, kind: int) -> Any:
    shape = (*x.shape[:-1], *sim.shape) if kind != _VJP else x.shape
    call = jax.ffi.ffi_call(_TARGET, jax.ShapeDtypeStruct(shape, x.dtype), vmap_method="broadcast_all")
    return call(x, *more, key=np.int64(int(sim.key)), kind=np.int64(kind))


_compiled = jax.jit(_call, static_argnames=("sim", "kind"))


def _primitive(name: str, kind: int) -> Any:
    made = Primitive(name)
    made.def_impl(partial(_compiled, kind=kind))
    mlir.register_lowering(made, mlir.lower_fun(partial(_call, kind=kind), multiple_results=False))

    def abstract(x: Any, *more: Any, sim: Simulator) -> Any:
        shape = (*x.shape[:-1], *sim.shape) if kind != _VJP else x.shape
        return jax.core.ShapedArray(shape, x.dtype)

    made.def_abstract_eval(abstract)

    def batch(args: Any, dims: Any, *, sim: Simulator) -> Any:
        size = next(a.shape[d] for a, d in zip(args, dims, strict=True) if d is not None)
        moved = [
            jnp.broadcast_to(a, (size, *a.shape)) if d is None else jnp.moveaxis(a, d, 0)
            for a, d in zip(args, dims, strict=True)
        ]
        return made.bind(*moved, sim=sim), 0

    batching.primitive_batchers[made] = batch
    return made


_forward = _primitive("nanobrag_forward", _FORWARD)
_tangent = _primitive("nanobrag_jvp", _JVP)
_adjoint = _primitive("nanobrag_vjp", _VJP)


def _forward_jvp(primals: Any, tangents: Any, *, sim: Simulator) -> Any:
    (x,), (dx,) = primals, tangents
    image = _forward.bind(x, sim=sim)
    if type(dx) is ad.Zero:
        return image, ad.Zero.from_primal_value(image)
    return image, _tangent.bind(x, dx, sim=sim)


def _linear_jvp(made: Any) -> Any:
    def rule(primals: Any, tangents: Any, *, sim: Simulator) -> Any:
        x, y = primals
        dx, dy = tangents
        if type(dx) is not ad.Zero:
            raise NotImplementedError(
                "nanobrag has no second derivatives by the parameters; apply stop_gradient() to x, "
                "or take Simulator.loss(..., normal=True) for a Hessian"
            )
        out = made.bind(x, y, sim=sim)
        return out, ad.Zero.from_primal_value(out) if type(dy) is ad.Zero else made.bind(x, dy, sim=sim)

    return rule


def _transpose(other: Any) -> Any:
    def rule(bar: Any, x: Any, y: Any, *, sim: Simulator) -> Any:
        if ad.is_undefined_primal(x):
            raise NotImplementedError("the Jacobian is not linear in x")
        if type(bar) is ad.Zero:
            return None, ad.Zero(y.aval)
        return None, other.bind(x, bar, sim=sim)

    return rule


ad.primitive_jvps[_forward] = _forward_jvp
ad.primitive_jvps[_tangent] = _linear_jvp(_tangent)
ad.primitive_jvps[_adjoint] = _linear_jvp(_adjoint)
ad.primitive_transposes[_tangent] = _transpose(_adjoint)
ad.primitive_transposes[_adjoint] = _transpose(_tangent)


def simulate(sim: Simulator, x: Any) -> Any:
    """Image I(x), photons per pixel, with derivatives by x.

    Args:
        sim: a simulator with free parameters; jit keeps it alive with what it compiled.
        x: parameters (nparam,), or several (..., nparam), float32 or float64.

    Returns:
        An image (nslow, nfast), or (..., nslow, nfast), of the type of x.

    Raises:
        TypeError, ValueError: of x as it is traced; what the library refuses as it runs (a
            parameter outside its bounds) is JAX's error of the runtime with its message.
    """
    if not isinstance(sim, Simulator):
        raise TypeError(f"sim: expected a Simulator, not {sim!r}")
    x = jnp.asarray(x)
    if x.dtype not in (jnp.float32, jnp.float64):
        raise TypeError(f"x has the type {x.dtype}; expected float32 or float64")
    if x.ndim < 1 or x.shape[-1] != sim.nparam:
        raise ValueError(f"x has the shape {x.shape}; expected ({sim.nparam},), or (..., {sim.nparam}) for several")
    return _forward.bind(x, sim=sim)
