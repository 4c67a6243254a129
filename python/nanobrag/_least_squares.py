# SPDX-License-Identifier: MIT
"""A fit as scipy's optimisers take it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._convert import choice
from ._errors import ArgumentError, SceneError
from ._structs import LossKind, Target

if TYPE_CHECKING:
    from ._simulator import Loss, Simulator

Floats = NDArray[np.float64]


class LeastSquares:
    """The functions of scipy's optimisers for one simulator and one target.

    For scipy.optimize.least_squares, where the target is Gaussian without planes::

        problem = sim.least_squares(observed)
        result = scipy.optimize.least_squares(problem.fun, problem.x0, problem.jac,
                                              bounds=problem.bounds, x_scale=problem.x_scale)

    and for scipy.optimize.minimize with any target::

        result = scipy.optimize.minimize(problem.value, problem.x0, jac=problem.gradient,
                                         hess=problem.hessian, method="trust-exact")

    At an x where the image or the loss is not defined, `fun` and `value` are inf and the
    derivatives nan; nothing raises.

    Attributes:
        x0: the parameters of the simulator                                     (nparam)
        bounds: lower and upper bounds, each (nparam)
        x_scale: a change of each parameter that matters                        (nparam)
    """

    def __init__(self, sim: Simulator, target: Target) -> None:
        self.sim, self.target = sim, target
        parameters = sim.parameters
        self.x0 = sim.x
        self.bounds = (parameters.lower, parameters.upper)
        self.x_scale = np.where(parameters.scales > 0, parameters.scales, 1.0)
        self._root: Floats | None = None
        self._last: tuple[bytes, Loss] | None = None

    def _image(self, image: Any, name: str) -> Floats:
        """An image on two axes, where that of stacked panels may have three."""
        pixels = np.asarray(image, np.float64)
        stacked = pixels.reshape(-1, pixels.shape[2]) if pixels.ndim == 3 else pixels
        if stacked.shape != self.sim.shape:
            raise ValueError(f"{name} has the shape {pixels.shape}; expected {self.sim.shape}")
        return stacked

    def _gaussian(self) -> Floats:
        """Square roots of the weights."""
        if choice(LossKind, self.target.kind, "target.kind") != LossKind.GAUSS or self.target.background:
            raise TypeError(
                "only a Gaussian target without planes is a sum of squares; take value, gradient and hessian"
            )
        if self._root is None:
            shape = self.sim.shape
            weight = np.ones(shape)
            if self.target.weight is not None:
                weight = self._image(self.target.weight, "target.weight")
            resolved = self.sim.resolved()
            lit = np.zeros(shape, dtype=bool)
            roi = list(resolved.detector.roi) if any(resolved.detector.roi) else [0, shape[1], 0, shape[0]]
            boxes = resolved.detector.box
            for fast0, fast1, slow0, slow1 in [roi] if boxes is None else np.asarray(boxes).tolist():
                lit[slow0:slow1, fast0:fast1] = True
            within = np.zeros(shape, dtype=bool)
            within[roi[2] : roi[3], roi[0] : roi[1]] = True
            lit &= within
            if resolved.detector.panel:
                on_panel = np.zeros(shape, dtype=bool)
                for i in range(len(resolved.detector.panel)):
                    p = self.sim.panel(i)
                    on_panel[p.slow0 : p.slow0 + p.nslow, p.fast0 : p.fast0 + p.nfast] = True
                lit &= on_panel
            if resolved.detector.mask is not None:
                lit &= np.asarray(resolved.detector.mask) != 0
            self._root = np.sqrt(weight) * lit
        return self._root

    def _difference(self, image: Floats) -> Floats:
        """Image - observed, 0 where a saturated pixel may have held as much."""
        observed = self._image(self.target.observed, "target.observed")
        if not self.target.saturation:
            return image - observed
        difference = image - np.minimum(observed, self.target.saturation)
        difference[(observed >= self.target.saturation) & (difference > 0)] = 0
        return difference

    def fun(self, x: Any) -> Floats:
        """sqrt(weight) (image - observed) of all pixels, 0 where nothing is rendered."""
        root = self._gaussian()
        try:
            image = self.sim(x)
        except (ArgumentError, SceneError):
            return np.full(root.size, np.inf)
        return np.asarray(root * self._difference(image), np.float64).ravel()

    def jac(self, x: Any) -> Floats:
        """The derivatives of `fun`                                  (nslow nfast, nparam)."""
        root = self._gaussian()
        try:
            jacobian = self.sim.jacobian(x)
        except (ArgumentError, SceneError):
            return np.full((root.size, self.sim.nparam), np.nan)
        jacobian *= root if not self.target.saturation else root * (self._difference(self.sim(x)) != 0)
        return np.asarray(jacobian.reshape(self.sim.nparam, -1).T)

    def _loss(self, x: Any) -> Loss:
        key = np.asarray(x, np.float64).tobytes()
        if self._last is None or self._last[0] != key:
            if not np.all(np.isfinite(np.asarray(x, np.float64))):
                from ._simulator import Loss

                nan = np.full(self.sim.nparam, np.nan)
                return Loss(float("inf"), nan, np.full((self.sim.ndense, self.sim.ndense), np.nan))
            self._last = key, self.sim.loss(x, self.target, gradient=True, normal=True)
        return self._last[1]

    def value(self, x: Any) -> float:
        """The loss."""
        return self._loss(x).value

    def gradient(self, x: Any) -> Floats:
        """dL/dx                                                               (nparam)."""
        found = self._loss(x).gradient
        assert found is not None
        return found

    def hessian(self, x: Any) -> Floats:
        """J^T W J, for the Hessian of the loss                       (nparam, nparam).

        Raises:
            TypeError: a structure factor is free.
        """
        if self.sim.ndense != self.sim.nparam:
            raise TypeError("the matrix of free structure factors would be too large; use gradient alone")
        found = self._loss(x).matrix
        assert found is not None
        return found
