# SPDX-License-Identifier: MIT
"""The simulator in JAX: values to the bit, derivatives by JAX's own checks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nanobrag

os.environ.setdefault("JAX_PLATFORMS", "cpu")
jax = pytest.importorskip("jax", reason="JAX is not here")
jnp = jax.numpy
from jax.test_util import check_grads  # noqa: E402

import nanobrag.jax as nj  # noqa: E402


@pytest.fixture(autouse=True)
def double():
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


def test_check_grads_of_jax(varied):
    scale, start = jnp.asarray(varied.parameters.scales), jnp.asarray(varied.x)
    peak = float(varied().max())

    def image(u):
        return nj.simulate(varied, start + u * scale) / peak

    u = jnp.zeros(varied.nparam)
    check_grads(image, (u,), order=1, modes=("fwd", "rev"), atol=1e-6, rtol=1e-5, eps=1e-6)
    check_grads(jax.jit(image), (u,), order=1, modes=("fwd", "rev"), atol=1e-6, rtol=1e-5, eps=1e-6)


def test_values_are_those_of_the_simulator(varied):
    x = jnp.asarray(varied.x)

    def image(x):
        return nj.simulate(varied, x)

    assert np.array_equal(image(x), varied())
    assert np.array_equal(jax.jit(image)(x), varied())
    rows = jnp.stack([x, x * 1.0001, x])
    assert np.array_equal(jax.vmap(image)(rows)[1], varied(np.asarray(rows[1])))
    assert np.array_equal(jax.jit(jax.vmap(image))(rows)[0], varied())
    assert np.array_equal(image(rows)[2], varied())
    jacobian = np.moveaxis(varied.jacobian(), 0, -1)
    assert np.array_equal(jax.jacfwd(image)(x), jacobian)
    reverse = jax.jit(jax.jacrev(image))(x)
    worst = abs(reverse - jacobian).max() / abs(jacobian).max()
    print(f"jacrev against the Jacobian: {worst:.2g}, allowed 1e-12")
    assert worst < 1e-12
    bar = jnp.asarray(np.random.default_rng(3).normal(size=varied.shape))
    assert np.array_equal(jax.vjp(image, x)[1](bar)[0], varied.vjp(None, np.asarray(bar)))


def test_transposes_and_their_derivatives(sim):
    x = jnp.asarray(sim.x)

    def image(x):
        return nj.simulate(sim, x)

    _, push = jax.linearize(image, x)
    pull = jax.linear_transpose(push, x)
    bar, dx = jnp.ones(sim.shape), jnp.asarray(sim.parameters.scales)
    assert float((push(dx) * bar).sum()) == pytest.approx(float((pull(bar)[0] * dx).sum()), rel=1e-12)
    # the adjoint is linear in its cotangent, and its derivative is the tangent
    through = jax.grad(lambda bar: (pull(bar)[0] * dx).sum())(bar)
    assert np.array_equal(through, push(dx))
    with pytest.raises(NotImplementedError, match="second derivatives"):
        jax.hessian(lambda x: image(x).sum())(x)


def test_float32(sim):
    x = jnp.asarray(sim.x, jnp.float32)
    image = nj.simulate(sim, x)
    assert image.dtype == jnp.float32
    assert np.array_equal(image, sim(dtype=np.float32))
    gradient = jax.grad(lambda x: nj.simulate(sim, x).sum())(x)
    assert np.array_equal(gradient, sim.vjp(None, np.ones(sim.shape)).astype(np.float32))


def test_bad_input(sim):
    for kind, words, x in [
        (TypeError, "int", jnp.zeros(5, int)),
        (TypeError, "complex", jnp.zeros(5, complex)),
        (ValueError, r"\(5,\)", jnp.zeros(4)),
        (ValueError, r"\(5,\)", jnp.zeros(())),
    ]:
        with pytest.raises(kind, match=words):
            nj.simulate(sim, x)
    with pytest.raises(Exception, match="misset_x"):
        nj.simulate(sim, jnp.full(5, jnp.nan)).block_until_ready()
    with pytest.raises(TypeError, match="Simulator"):
        nj.simulate(None, jnp.zeros(5))
    with pytest.raises(ValueError, match="read-only"):
        sim(out=jnp.zeros(sim.shape))
    # an array of JAX is read without a copy
    assert np.array_equal(sim.vjp(None, jnp.ones(sim.shape)), sim.vjp(None, np.ones(sim.shape)))


def test_a_simulator_that_was_freed_is_refused(scene):
    sim = nanobrag.Simulator(scene, "misset")
    x = jnp.asarray(sim.x)
    compiled = jax.jit(lambda x: nj.simulate(sim, x)).lower(x).compile()
    assert np.array_equal(compiled(x), sim())
    sim.close()
    with pytest.raises(Exception, match="closed"):
        compiled(x).block_until_ready()


def test_layouts_are_those_of_xla(tmp_path):
    """The structs that the package reads are laid out as in the header that jaxlib installs."""
    header = Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
    import cdef

    pairs = {
        "XLA_FFI_Extension_Base": ("nbpy_xla_extension", ["type", "next"]),
        "XLA_FFI_Api_Version": ("nbpy_xla_version", ["major_version", "minor_version"]),
        "XLA_FFI_Metadata": ("nbpy_xla_metadata", ["api_version", "traits"]),
        "XLA_FFI_Error_Create_Args": ("nbpy_xla_error_args", ["message", "errc"]),
        "XLA_FFI_Buffer": ("nbpy_xla_buffer", ["dtype", "data", "rank", "dims"]),
        "XLA_FFI_ByteSpan": ("nbpy_xla_span", ["ptr", "len"]),
        "XLA_FFI_Scalar": ("nbpy_xla_scalar", ["dtype", "value"]),
        "XLA_FFI_Args": ("nbpy_xla_args", ["size", "types", "args"]),
        "XLA_FFI_Rets": ("nbpy_xla_rets", ["size", "types", "rets"]),
        "XLA_FFI_Attrs": ("nbpy_xla_attrs", ["size", "types", "names", "attrs"]),
        "XLA_FFI_CallFrame": ("nbpy_xla_frame", ["api", "ctx", "stage", "args", "rets", "attrs"]),
    }
    lines = ["#include <stddef.h>", f'#include "{header}"', "#include <stdint.h>", cdef.FOREIGN]
    for theirs, (ours, members) in pairs.items():
        lines += [f'_Static_assert(offsetof({theirs}, {m}) == offsetof({ours}, {m}), "{theirs}.{m}");' for m in members]
    lines += [
        '_Static_assert(offsetof(XLA_FFI_Api, XLA_FFI_Error_Create) == offsetof(nbpy_xla_api, error_create), "");',
        "_Static_assert(offsetof(XLA_FFI_Metadata_Extension, metadata)"
        ' == offsetof(nbpy_xla_metadata_extension, metadata), "");',
        '_Static_assert(XLA_FFI_DataType_F32 == NBPY_XLA_F32 && XLA_FFI_DataType_F64 == NBPY_XLA_F64, "");',
        '_Static_assert(XLA_FFI_Extension_Metadata == 1 && XLA_FFI_API_MAJOR == 0, "");',
    ]
    source = tmp_path / "layout.c"
    source.write_text("\n".join(lines) + "\n")
    try:
        done = subprocess.run(["cc", "-std=c11", "-fsyntax-only", str(source)], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("no C compiler")
    assert done.returncode == 0, done.stderr
    # and the check notices a wrong one
    wrong = source.read_text().replace("void *data;\n    int64_t rank;", "int64_t rank;\n    void *data;")
    assert wrong != source.read_text()
    source.write_text(wrong)
    assert subprocess.run(["cc", "-std=c11", "-fsyntax-only", str(source)], capture_output=True).returncode
