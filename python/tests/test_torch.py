# SPDX-License-Identifier: MIT
"""The simulator in PyTorch: values to the bit, derivatives by torch's own checks."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import nanobrag

try:
    import torch
    from torch import library
except (ImportError, OSError) as error:  # a wheel without the libraries that it loads is an OSError
    pytest.skip(f"PyTorch is not here: {error}", allow_module_level=True)

import nanobrag.torch as nt

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


def at(sim, requires_grad=False):
    return torch.tensor(sim.x, requires_grad=requires_grad)


def test_gradcheck_of_torch(varied):
    scale = torch.tensor(varied.parameters.scales)
    start, peak = at(varied), float(varied().max())

    def image(u):
        return nt.simulate(varied, start + u * scale) / peak

    u = torch.zeros(varied.nparam, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        image, u, eps=1e-6, atol=1e-6, rtol=1e-5, check_forward_ad=True, check_batched_grad=True,
        check_batched_forward_grad=True,
    )  # fmt: skip


def test_values_are_those_of_the_simulator(varied):
    x = at(varied, True)
    image = nt.simulate(varied, x)
    assert np.array_equal(image.detach(), varied())
    bar = torch.rand(varied.shape, dtype=torch.float64)
    (gradient,) = torch.autograd.grad(image, x, bar)
    assert np.array_equal(gradient, varied.vjp(None, bar.numpy()))
    several = nt.simulate(varied, torch.stack([at(varied), at(varied) * 1.0001]))
    assert np.array_equal(several[0], varied())
    assert several.shape == (2, *varied.shape)


def test_float32(sim):
    x = at(sim).to(torch.float32).requires_grad_()
    image = nt.simulate(sim, x)
    assert image.dtype == torch.float32
    assert np.array_equal(image.detach(), sim(dtype=np.float32))
    image.sum().backward()
    assert np.array_equal(x.grad, sim.vjp(None, np.ones(sim.shape)).astype(np.float32))


def test_an_image_is_written_where_torch_put_it(sim):
    """No copy: the address that the library gets is that of the tensor."""
    seen = []
    original = sim._context.run

    def spy(function, *args):
        if function is nanobrag._lib.nb_forward:
            seen.append(int(nanobrag._ffi.cast("intptr_t", args[2].data)))
        original(function, *args)

    sim._context.run = spy
    image = nt.simulate(sim, at(sim))
    assert seen == [image.data_ptr()]
    tensor = torch.empty(sim.shape, dtype=torch.float64)
    assert sim(out=tensor) is tensor
    assert seen[1] == tensor.data_ptr()
    assert torch.equal(tensor, image)


def test_compiled_has_the_same_bits(varied):
    compare_compiled(varied, "aot_eager")


@pytest.mark.slow
def test_compiled_by_inductor_has_the_same_bits(sim):
    compare_compiled(sim, "inductor")


def compare_compiled(sim, backend):
    torch._dynamo.reset()

    def total(x):
        return (nt.simulate(sim, x) * 2.0).square()

    compiled = torch.compile(total, fullgraph=True, backend=backend)
    a, b = at(sim, True), at(sim, True)
    try:
        found = compiled(a)
    except Exception as error:
        if backend == "inductor" and "compiler" in str(error).lower():
            pytest.skip("torch.compile finds no C++ compiler")
        raise
    expected = total(b)
    assert torch.equal(found, expected)
    found.sum().backward()
    expected.sum().backward()
    assert torch.equal(a.grad, b.grad)


def test_operators_are_registered_well(sim):
    """PyTorch's opcheck: schema, fake tensors, dispatch, autograd under compilation."""
    for requires_grad in (False, True):
        library.opcheck(torch.ops.nanobrag.simulate.default, (at(sim, requires_grad), sim.key))
    observed = torch.tensor(sim()) * 1.1
    numbers = [0.0] * 5
    library.opcheck(
        torch.ops.nanobrag.loss.default,
        (at(sim, True), observed, None, sim.key, "gaussian", numbers, True),
        test_utils=("test_schema", "test_faketensor"),
    )


def test_transforms_of_torch_func(scene):
    small = scene.replace(detector__nslow=8, detector__nfast=8, detector__pixel=3.2, detector__roi=(0, 0, 0, 0))
    sim = nanobrag.Simulator(small, "misset cell_a distance", threads=1)
    x = at(sim)

    def image(x):
        return nt.simulate(sim, x)

    jacobian = torch.tensor(np.moveaxis(sim.jacobian(), 0, -1))
    forward, reverse = torch.func.jacfwd(image)(x), torch.func.jacrev(image)(x)
    assert torch.equal(forward, jacobian)
    worst = float((reverse - jacobian).abs().max() / jacobian.abs().max())
    print(f"jacrev against the Jacobian: {worst:.2g}, allowed 1e-12")
    assert worst < 1e-12
    rows = torch.stack([x, x + 0.01, x])
    assert torch.equal(torch.vmap(image)(rows)[1], image(x + 0.01))
    gradients = torch.vmap(torch.func.grad(lambda x: image(x).sum()))(rows)
    assert torch.equal(gradients[0], torch.func.grad(lambda x: image(x).sum())(x))
    nested = torch.vmap(torch.vmap(image))(rows.reshape(3, 1, -1))
    assert torch.equal(nested[1, 0], image(x + 0.01))


def test_the_loss_is_an_operator(sim):
    observed, weight = torch.tensor(sim()) + 1.0, torch.rand(sim.shape, dtype=torch.float64)
    x = (at(sim) + 0.01).requires_grad_()
    value, matrix = nt.loss(sim, x, observed, weight, kind="poisson", normal=True)
    target = nanobrag.Target(kind="poisson", observed=observed.numpy(), weight=weight.numpy())
    expected = sim.loss(x.detach().numpy(), target, normal=True)
    value.backward()
    assert value.item() == expected.value
    assert np.array_equal(x.grad, expected.gradient)
    assert np.array_equal(matrix, expected.matrix)
    assert torch.autograd.gradcheck(
        lambda u: nt.loss(sim, at(sim) + 0.01 * u, observed) / 1e4,
        torch.full((sim.nparam,), 0.3, dtype=torch.float64, requires_grad=True), eps=1e-5, check_forward_ad=True,
    )  # fmt: skip
    compiled = torch.compile(lambda x: nt.loss(sim, x, observed), fullgraph=True, backend="aot_eager")
    assert compiled(x).item() == nt.loss(sim, x, observed).item()
    rows = torch.stack([at(sim), at(sim) + 0.01])
    each = torch.vmap(lambda x: nt.loss(sim, x, observed))(rows)
    assert each[1] == nt.loss(sim, rows[1], observed)
    assert nt.loss(sim, at(sim) - 1000, observed).item() == np.inf
    with pytest.raises(NotImplementedError, match="observed"):
        nt.loss(sim, at(sim, True), observed.clone().requires_grad_()).backward()


def test_second_derivatives_are_refused(sim):
    x = at(sim, True)
    (gradient,) = torch.autograd.grad(nt.simulate(sim, x).square().sum(), x, create_graph=True)
    with pytest.raises(NotImplementedError, match="second derivatives"):
        gradient.sum().backward()
    # what is linear in the cotangent has a derivative by it, where x has none
    bar = torch.ones(sim.shape, dtype=torch.float64, requires_grad=True)
    pulled = torch.ops.nanobrag.simulate_vjp(x.detach(), bar, sim.key)
    direction = torch.tensor(sim.parameters.scales)
    (pushed,) = torch.autograd.grad(pulled, bar, direction)
    assert np.array_equal(pushed, sim.jvp(None, direction.numpy()))


def test_bad_input(sim):
    cases = [
        (TypeError, "int64", torch.zeros(5, dtype=torch.int64)),
        (TypeError, "complex", torch.zeros(5, dtype=torch.complex128)),
        (TypeError, "tensor", np.zeros(5)),
        (ValueError, r"\(5,\)", torch.zeros(4, dtype=torch.float64)),
        (ValueError, r"\(5,\)", torch.tensor(1.0)),
        (ValueError, "misset_x", torch.full((5,), float("nan"), dtype=torch.float64)),
    ]
    for kind, words, x in cases:
        with pytest.raises(kind, match=words):
            nt.simulate(sim, x)
    with pytest.raises(TypeError, match="Simulator"):
        nt.simulate(None, at(sim))
    with pytest.raises(RuntimeError, match="floating point"):
        torch.zeros(5, dtype=torch.int64, requires_grad=True)
    with pytest.raises(TypeError, match="gradient"):
        sim(out=torch.zeros(sim.shape, dtype=torch.float64, requires_grad=True))
    with pytest.raises(TypeError, match="observed"):
        nt.loss(sim, at(sim), torch.zeros(sim.shape, dtype=torch.int32))
    with pytest.raises(ValueError, match="shape"):
        nt.loss(sim, torch.zeros((2, 5), dtype=torch.float64), torch.zeros(sim.shape))
    with pytest.raises(TypeError, match=r"float16|16 bits"):
        sim.vjp(None, torch.zeros(sim.shape, dtype=torch.float16))


def test_a_simulator_that_was_freed_is_refused(scene):
    sim = nanobrag.Simulator(scene, "misset")
    key, x = sim.key, at(sim)
    del sim
    gc.collect()
    with pytest.raises(ValueError, match="freed"):
        torch.ops.nanobrag.simulate(x, key)


def test_a_graph_keeps_its_simulator(scene):
    """A function that makes a simulator may return the image: backward() needs no other reference."""

    def image(x):
        return nt.simulate(nanobrag.Simulator(scene, "misset"), x)

    kept = nanobrag.Simulator(scene, "misset")
    x = at(kept, True)
    total = image(x).square().sum()
    gc.collect()
    total.backward()
    assert np.array_equal(x.grad, kept.vjp(None, 2 * kept()))
    alive = len(nanobrag._simulator._simulators)
    del total
    gc.collect()
    assert len(nanobrag._simulator._simulators) == alive - 1


def test_a_meta_tensor_has_the_shape(sim):
    x = torch.zeros(5, dtype=torch.float64, device="meta")
    assert nt.simulate(sim, x).shape == sim.shape


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_images_stay_on_a_cuda_device(scene):
    sim = nanobrag.Simulator(scene, "misset", device="cuda")
    if not sim.describe().device.startswith("cuda"):
        pytest.skip(f"this build computes on the host: {sim.describe().device_why}")
    x = at(sim).cuda().requires_grad_()
    image = nt.simulate(sim, x)
    assert image.device.type == "cuda"
    image.sum().backward()
    assert x.grad.device.type == "cuda"
    host = nanobrag.Simulator(scene, "misset")()
    assert np.allclose(image.detach().cpu(), host, atol=1e-9 * host.max())
