# SPDX-License-Identifier: MIT
"""Derivatives through Python: transposes, losses, scipy."""

from __future__ import annotations

import numpy as np
import pytest

import nanobrag
from nanobrag import Target


def test_tangent_and_adjoint_are_transposes(varied):
    random = np.random.default_rng(2)
    directions = random.normal(size=(3, varied.nparam)) * varied.parameters.scales
    bars = random.normal(size=(2, *varied.shape))
    tangents = varied.jvp(None, directions)
    gradients = varied.vjp(None, bars)
    forward = np.einsum("kij,lij->kl", tangents, bars)
    back = directions @ gradients.T
    scale = np.einsum("kij,lij->kl", abs(tangents), abs(bars))
    worst = (abs(forward - back) / scale).max()
    print(f"<J d, w> - <d, J^T w> over its scale: {worst:.2g}, allowed 1e-12")
    assert scale.min() > 0
    assert worst < 1e-12
    assert np.array_equal(varied.jvp(None, directions[1]), tangents[1])
    assert np.array_equal(varied.vjp(None, bars[1]), gradients[1])


def test_gradient_of_the_loss_is_that_of_the_image(varied):
    x = varied.x
    image = varied()
    observed = image + np.sqrt(image + 1)
    weight = 1 / (image + 1)
    found = varied.loss(x, Target(observed=observed, weight=weight), normal=True)
    residual = image - observed
    assert found.value == pytest.approx(0.5 * (weight * residual**2).sum(), rel=1e-12)
    jacobian = varied.jacobian().reshape(varied.nparam, -1)
    gradient = jacobian @ (weight * residual).ravel()
    scale = abs(jacobian) @ abs(weight * residual).ravel()
    assert (abs(found.gradient - gradient) <= 1e-12 * scale + 1e-300).all()
    matrix = (jacobian * weight.ravel()) @ jacobian.T
    size = np.sqrt(np.outer(np.diag(matrix), np.diag(matrix)))
    assert (abs(found.matrix - matrix) <= 1e-11 * size).all()
    again = varied.jtj(x, weight, residual)
    assert (abs(again.matrix - matrix) <= 1e-11 * size).all()
    assert (abs(again.gradient - gradient) <= 1e-12 * scale + 1e-300).all()


def test_gradcheck(sim, tmp_path):
    found = sim.gradcheck()
    assert found, str(found)
    assert len(found.rows) == 4 * sim.nparam
    assert not found.failures
    assert found.lines[0].startswith("PASS misset_x")
    found.save(tmp_path / "check.json")
    assert (tmp_path / "check.json").stat().st_size > 1000
    # a check that has nothing to look at fails
    assert not sim.gradcheck(bar=np.zeros(sim.shape))


def test_structure_factors_are_parameters(scene):
    hkl = nanobrag.Hkl([[h, k, l] for h in range(-9, 10) for k in range(-9, 10) for l in range(-9, 10)],
                       np.linspace(10, 100, 19**3))  # fmt: skip
    sim = nanobrag.Simulator(scene.replace(crystal__hkl=hkl), "scale F")
    assert sim.ndense == 1
    assert sim.nparam == 1 + 19**3
    found = sim.loss(None, 0.9 * sim(), normal=True)
    assert found.matrix.shape == (1, 1)
    assert found.coupling.shape == (1, 19**3)
    assert abs(found.gradient[1:]).max() > 0


def test_scipy_finds_the_start_again(scene):
    optimize = pytest.importorskip("scipy.optimize")
    sim = nanobrag.Simulator(scene, "misset cell_a scale")
    truth = sim.x
    observed = sim()
    sim.x = truth + [0.02, -0.02, 0.01, 0.05, 0.1]
    problem = sim.least_squares(observed)
    found = optimize.least_squares(
        problem.fun,
        problem.x0,
        problem.jac,
        bounds=problem.bounds,
        x_scale=problem.x_scale,
        xtol=1e-12,
        ftol=1e-14,
    )
    assert found.cost < 1e-12
    assert np.allclose(found.x, truth, atol=1e-6)
    assert found.cost == pytest.approx(problem.value(found.x), abs=1e-18)
    smooth = optimize.minimize(
        problem.value, problem.x0, jac=problem.gradient, hess=problem.hessian, method="trust-exact"
    )
    assert np.allclose(smooth.x, truth, atol=1e-3)


def test_scipy_sees_infinity_outside_the_domain(scene):
    sim = nanobrag.Simulator(scene, "distance cell_a")
    problem = sim.least_squares(sim())
    for x in ([-5.0, 50.0], [100.0, -1.0], [np.nan, 50.0], [np.inf, 50.0]):
        assert np.isinf(problem.fun(x)).all()
        assert np.isnan(problem.jac(x)).all()
        assert problem.value(x) == np.inf
        assert np.isnan(problem.gradient(x)).all()
        assert np.isnan(problem.hessian(x)).all()
    with pytest.raises(TypeError, match="Gaussian"):
        sim.least_squares(Target(kind="poisson", observed=sim())).fun([100.0, 50.0])


def test_masked_pixels_do_not_count_for_scipy(scene):
    mask = np.ones((64, 64), np.uint8)
    mask[:32] = 0
    sim = nanobrag.Simulator(scene.replace(detector__mask=mask, detector__roi=(4, 60, 4, 60)), "misset")
    observed = sim() + 1.0
    problem = sim.least_squares(observed)
    residual = problem.fun(sim.x).reshape(64, 64)
    assert not residual[:32].any()
    assert not residual[:, :4].any()
    assert residual[40, 30] == -1
    assert 0.5 * (residual**2).sum() == pytest.approx(problem.value(sim.x), rel=1e-12)
