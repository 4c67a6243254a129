# SPDX-License-Identifier: MIT
"""The simulator as a function of PyTorch: `simulate` and `loss`.

Both are custom operators: autograd in reverse and forward mode, torch.compile, torch.func (vmap,
jacrev, jacfwd). Tensors of the CPU share their memory with the library; images on a CUDA device
stay there, in torch's current stream, where the library computes on that device.

Second derivatives by the parameters do not exist in the library and raise NotImplementedError.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import library
from torch._functorch.utils import enable_single_level_autograd_function

from ._convert import choice
from ._simulator import Simulator, simulator_of
from ._structs import LossKind, Target

__all__ = ["LossResult", "loss", "simulate"]

_library = library.Library("nanobrag", "DEF")
_library.define("simulate(Tensor x, str key) -> Tensor")
_library.define("simulate_jvp(Tensor x, Tensor dx, str key) -> Tensor")
_library.define("simulate_vjp(Tensor x, Tensor bar, str key) -> Tensor")
_library.define(
    "loss(Tensor x, Tensor observed, Tensor? weight, str key, str kind, float[] numbers, bool normal)"
    " -> (Tensor, Tensor, Tensor)"
)
_NUMBERS = ("sigma_readout", "gain", "delta", "saturation", "background")


def _rows(x: torch.Tensor) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The parameters on the host in double, one row for each image."""
    host = x.detach().to("cpu", torch.float64)
    return host.reshape(-1, x.shape[-1]).contiguous().numpy()


def _memory(images: torch.Tensor) -> Any:
    """Images as the library takes them: host memory as numpy, others by DLPack."""
    return images.detach().numpy() if images.device.type == "cpu" else images.detach()


def _in_stream(sim: Simulator, tensor: torch.Tensor) -> None:
    if tensor.device.type == "cuda":
        sim.set_stream(torch.cuda.current_stream(tensor.device).cuda_stream)


def _runs(x: np.ndarray[Any, Any]) -> list[tuple[int, int]]:
    """Ranges of equal neighbours, which share a pass over the samples."""
    starts = [0, *(i for i in range(1, len(x)) if not np.array_equal(x[i], x[i - 1]))]
    return list(zip(starts, [*starts[1:], len(x)], strict=True))


def _simulate(x: torch.Tensor, key: str) -> torch.Tensor:
    sim = simulator_of(key)
    out = torch.empty((*x.shape[:-1], *sim.shape), dtype=x.dtype, device=x.device)
    _in_stream(sim, out)
    rows = _rows(x)
    if x.ndim == 1:
        sim(rows[0], _memory(out))
    elif len(rows):
        sim(rows, _memory(out.view(-1, *sim.shape)))
    return out


def _simulate_jvp(x: torch.Tensor, dx: torch.Tensor, key: str) -> torch.Tensor:
    sim = simulator_of(key)
    rows, directions = _rows(x), _rows(dx)
    out = torch.empty((len(rows), *sim.shape), dtype=x.dtype)
    for first, last in _runs(rows):
        sim.jvp(rows[first], directions[first:last], _memory(out[first:last]))
    return out.reshape(*x.shape[:-1], *sim.shape).to(x.device)


def _simulate_vjp(x: torch.Tensor, bar: torch.Tensor, key: str) -> torch.Tensor:
    sim = simulator_of(key)
    rows = _rows(x)
    bars = bar.detach().reshape(-1, *sim.shape).contiguous()
    if bars.device.type != "cpu" and not sim.describe().derivatives.startswith("cuda"):
        bars = bars.cpu()
    _in_stream(sim, bars)
    out = np.zeros((len(rows), x.shape[-1]))
    for first, last in _runs(rows):
        out[first:last] = sim.vjp(rows[first], [_memory(bars[i]) for i in range(first, last)])
    return torch.from_numpy(out).to(x.device, x.dtype).reshape(x.shape)


def _loss(
    x: torch.Tensor, observed: torch.Tensor, weight: torch.Tensor | None, key: str, kind: str,
    numbers: list[float], normal: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:  # fmt: skip
    sim = simulator_of(key)
    values: dict[str, Any] = dict(zip(_NUMBERS, numbers, strict=True))
    values["background"] = int(values["background"])
    _in_stream(sim, observed)
    target = Target(kind=kind, observed=_memory(observed), weight=None if weight is None else _memory(weight), **values)
    found = sim.loss(_rows(x)[0], target, gradient=True, normal=normal)
    matrix = found.matrix if found.matrix is not None else np.zeros((0, 0))
    return (
        x.new_tensor(found.value),
        torch.from_numpy(found.gradient).to(x.device, x.dtype),
        torch.from_numpy(matrix).to(x.device, x.dtype),
    )


def _fake_images(x: torch.Tensor, *args: Any) -> torch.Tensor:
    return x.new_empty((*x.shape[:-1], *simulator_of(args[-1]).shape))


def _fake_loss(
    x: torch.Tensor, observed: torch.Tensor, weight: Any, key: str, kind: str, numbers: Any, normal: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    n = simulator_of(key).ndense if normal else 0
    return x.new_empty(()), torch.empty_like(x), x.new_empty((n, n))


for _name, _function in (
    ("simulate", _simulate), ("simulate_jvp", _simulate_jvp), ("simulate_vjp", _simulate_vjp), ("loss", _loss),
):  # fmt: skip
    _library.impl(_name, _function, "CPU")
    _library.impl(_name, _function, "CUDA")
library.register_fake("nanobrag::simulate", _fake_images, lib=_library)
library.register_fake("nanobrag::simulate_jvp", _fake_images, lib=_library)
library.register_fake("nanobrag::simulate_vjp", lambda x, bar, key: torch.empty_like(x), lib=_library)
library.register_fake("nanobrag::loss", _fake_loss, lib=_library)

_ops = torch.ops.nanobrag
_SECOND = "nanobrag has no second derivatives by the parameters; take J^T W J of loss(..., normal=True) for a Hessian"


# a kernel of the dispatcher's key Autograd runs once for each level of torch.func, as those that
# library.custom_op() makes; theirs have no forward mode
_Function: Any = torch.autograd.function._SingleLevelFunction


class _Simulate(_Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, key: str) -> torch.Tensor:
        ctx.key = key
        ctx.sim = simulator_of(key)  # lives as long as the graph
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        with torch._C._AutoDispatchBelowAutograd():
            return _ops.simulate(x, key)

    @staticmethod
    def backward(ctx: Any, bar: torch.Tensor) -> Any:
        return _ops.simulate_vjp(ctx.saved_tensors[0], bar, ctx.key), None

    @staticmethod
    def jvp(ctx: Any, dx: torch.Tensor, _: Any) -> Any:
        return _ops.simulate_jvp(ctx.saved_tensors[0], dx, ctx.key)


class _Linear(_Function):
    """J dx and J^T bar, each of which is linear in its second argument and gives the other."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, y: torch.Tensor, key: str, is_tangent: bool) -> Any:
        ctx.key, ctx.is_tangent = key, is_tangent
        ctx.sim = simulator_of(key)
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        with torch._C._AutoDispatchBelowAutograd():
            return _ops.simulate_jvp(x, y, key) if is_tangent else _ops.simulate_vjp(x, y, key)

    @staticmethod
    def backward(ctx: Any, bar: torch.Tensor) -> Any:
        if ctx.needs_input_grad[0]:
            raise NotImplementedError(_SECOND)
        op = _ops.simulate_vjp if ctx.is_tangent else _ops.simulate_jvp
        return None, op(ctx.saved_tensors[0], bar, ctx.key), None, None

    @staticmethod
    def jvp(ctx: Any, dx: torch.Tensor | None, dy: torch.Tensor | None, *_: Any) -> Any:
        if dx is not None:
            raise NotImplementedError(_SECOND)
        op = _ops.simulate_jvp if ctx.is_tangent else _ops.simulate_vjp
        return op(ctx.saved_tensors[0], dy, ctx.key)


class _Loss(_Function):
    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        with torch._C._AutoDispatchBelowAutograd():
            value, gradient, matrix = _ops.loss(*args)
        ctx.save_for_backward(gradient)
        ctx.save_for_forward(gradient)
        ctx.mark_non_differentiable(gradient, matrix)
        return value, gradient, matrix

    @staticmethod
    def backward(ctx: Any, bar: torch.Tensor, *_: Any) -> Any:
        if any(ctx.needs_input_grad[1:3]):
            raise NotImplementedError("a loss has no derivative by observed photons or weights")
        return bar * ctx.saved_tensors[0], None, None, None, None, None, None

    @staticmethod
    def jvp(ctx: Any, dx: torch.Tensor, *_: Any) -> Any:
        return (ctx.saved_tensors[0] * dx).sum(), None, None


def _apply(function: Any, *args: Any) -> Any:
    if not torch._C._are_functorch_transforms_active():
        return function.apply(*args)
    # below a transform of torch.func this kernel sees the tensors of one level
    with enable_single_level_autograd_function():
        return function.apply(*args)


_library.impl("simulate", lambda x, key: _apply(_Simulate, x, key), "Autograd")
_library.impl("simulate_jvp", lambda x, dx, key: _apply(_Linear, x, dx, key, True), "Autograd")
_library.impl("simulate_vjp", lambda x, bar, key: _apply(_Linear, x, bar, key, False), "Autograd")
_library.impl("loss", lambda *args: _apply(_Loss, *args), "Autograd")


def _to_front(tensor: torch.Tensor, dim: int | None, size: int) -> torch.Tensor:
    return tensor.expand(size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)


def _vmap_simulate(info: Any, in_dims: Any, x: torch.Tensor, key: str) -> Any:
    return _ops.simulate(_to_front(x, in_dims[0], info.batch_size), key), 0


def _vmap_linear(op: Any) -> Any:
    def rule(info: Any, in_dims: Any, x: torch.Tensor, y: torch.Tensor, key: str) -> Any:
        return op(_to_front(x, in_dims[0], info.batch_size), _to_front(y, in_dims[1], info.batch_size), key), 0

    return rule


def _vmap_loss(info: Any, in_dims: Any, x: torch.Tensor, observed: torch.Tensor, weight: Any, *rest: Any) -> Any:
    rows = [_to_front(t, d, info.batch_size) if t is not None else None
            for t, d in zip((x, observed, weight), in_dims[:3], strict=True)]  # fmt: skip
    each = [_ops.loss(*(None if r is None else r[i].contiguous() for r in rows), *rest) for i in range(info.batch_size)]
    return tuple(torch.stack(parts) for parts in zip(*each, strict=True)), (0, 0, 0)


library.register_vmap("nanobrag::simulate", _vmap_simulate, lib=_library)
library.register_vmap("nanobrag::simulate_jvp", _vmap_linear(_ops.simulate_jvp), lib=_library)
library.register_vmap("nanobrag::simulate_vjp", _vmap_linear(_ops.simulate_vjp), lib=_library)
library.register_vmap("nanobrag::loss", _vmap_loss, lib=_library)


def _check(sim: Simulator, x: torch.Tensor, axes: bool) -> None:
    if not isinstance(sim, Simulator):
        raise TypeError(f"sim: expected a Simulator, not {sim!r}")
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"x: expected a tensor, not {type(x).__name__}")
    if x.dtype not in (torch.float32, torch.float64):
        raise TypeError(f"x has the type {x.dtype}; expected torch.float64 or torch.float32")
    if x.ndim < 1 or x.shape[-1] != sim.nparam or (not axes and x.ndim != 1):
        more = ", or (..., nparam) for several" if axes else ""
        raise ValueError(f"x has the shape {tuple(x.shape)}; expected ({sim.nparam},){more}")


def simulate(sim: Simulator, x: torch.Tensor) -> torch.Tensor:
    """Image I(x), photons per pixel, with derivatives by x.

    Args:
        sim: a simulator with free parameters.
        x: parameters (nparam,), or several (..., nparam), float64 or float32; on a CUDA device
            where the image is wanted there.

    Returns:
        An image (nslow, nfast), or (..., nslow, nfast), of the type and on the device of x.

    Raises:
        TypeError, ValueError: of x.
        NanobragError: those of `Simulator.__call__`.
    """
    _check(sim, x, True)
    return _ops.simulate(x, sim.key)


class LossResult(tuple[torch.Tensor, torch.Tensor]):
    """A loss and its normal matrix: ``value, matrix = loss(..., normal=True)``."""


def loss(
    sim: Simulator,
    x: torch.Tensor,
    observed: torch.Tensor,
    weight: torch.Tensor | None = None,
    *,
    kind: LossKind | str = LossKind.GAUSS,
    sigma_readout: float = 0.0,
    gain: float = 0.0,
    delta: float = 0.0,
    saturation: float = 0.0,
    background: int = 0,
    normal: bool = False,
) -> Any:
    """The loss of an image with its gradient, in one pass and without keeping the image.

    Args:
        sim: a simulator with free parameters.
        x: parameters (nparam,), float64 or float32.
        observed: photons (nslow, nfast), float64 or float32.
        weight: w (nslow, nfast); None: 1.
        kind: the loss, as in `Target`, whose members the numbers are.
        sigma_readout: photons.
        gain: factor of the loss with read-out noise.
        delta: photons.
        saturation: photons; 0: none.
        background: 1: a plane in each box.
        normal: whether the normal matrix is wanted.

    Returns:
        A scalar, inf where there is no finite value; with `normal` a `LossResult` of it and
        J^T W J (ndense, ndense), which carries no gradient.
    """
    _check(sim, x, False)
    for name, image in (("observed", observed), ("weight", weight)):
        if image is None and name == "weight":
            continue
        if not isinstance(image, torch.Tensor) or image.dtype not in (torch.float32, torch.float64):
            raise TypeError(f"{name}: expected a tensor of torch.float64 or torch.float32")
    numbers = [float(v) for v in (sigma_readout, gain, delta, saturation, background)]
    name = choice(LossKind, kind, "kind").name.lower()
    value, _, matrix = _ops.loss(x, observed, weight, sim.key, name, numbers, normal)
    return LossResult((value, matrix)) if normal else value
