# SPDX-License-Identifier: MIT
"""X-ray diffraction images of small crystals, and their exact derivatives.

A `Scene` says what is simulated, a `Simulator` computes images of it and their derivatives, in
photons per pixel. nanobrag.torch and nanobrag.jax make the simulator a function of PyTorch and
JAX; both are optional.

>>> import nanobrag
>>> scene = nanobrag.Scene.from_cli("-cell 50 60 70 90 90 90 -default_F 100 -detpixels 32 -N 5")
>>> nanobrag.Simulator(scene)().shape
(32, 32)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ._errors import (
    ArgumentError,
    CancelledError,
    CommandError,
    DeviceError,
    DomainError,
    DonatedError,
    FileError,
    FormatError,
    NanobragError,
    NanobragWarning,
    OutOfMemoryError,
    SceneError,
    ShapeError,
    UnitCellError,
    UnsupportedError,
)
from ._exchange import (
    Experiment,
    Nxmx,
    check_cbf,
    expt_images,
    read_dtrek,
    read_expt,
    read_xparm,
    update_expt,
    write_cbf,
    write_expt,
)
from ._files import Hkl, SmvHeader, read_matrix, read_smv, write_smv
from ._fit import Fit, FitResult, Shot, fisher, start_values
from ._geometry import Geometry, write_geom
from ._gradcheck import Gradcheck
from ._least_squares import LeastSquares
from ._lib import ffi as _ffi
from ._lib import lib as _lib
from ._measured import MeasuredImage, image_kind, read_image
from ._parameters import Parameters, registry
from ._reflections import Reflections
from ._scene import Scene
from ._show import resolution, show
from ._simulator import Counts, Loss, Simulator
from ._structs import *  # noqa: F403
from ._structs import __all__ as _structs_all
from ._structure import Structure, crystal_system

if not TYPE_CHECKING:

    def __getattr__(name):
        # what needs more than numpy is imported where it is first named
        if name in ("dials", "jax", "report", "torch"):
            return importlib.import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__version__: str = _ffi.string(_lib.nb_version()).decode()


def features() -> str:
    """The optional parts of this build, as words on one line."""
    return str(_ffi.string(_lib.nb_features()).decode())


__all__ = [
    "ArgumentError", "CancelledError", "CommandError", "Counts", "DeviceError", "DomainError", "DonatedError",
    "Experiment", "FileError", "Fit", "FitResult", "FormatError", "Geometry", "Gradcheck", "Hkl",
    "LeastSquares", "Loss", "MeasuredImage", "NanobragError", "NanobragWarning", "Nxmx", "OutOfMemoryError",
    "Parameters", "Reflections",
    "Scene", "SceneError", "ShapeError", "Shot", "Simulator", "SmvHeader", "Structure", "UnitCellError",
    "UnsupportedError", "__version__", "check_cbf", "crystal_system", "expt_images", "features", "fisher", "image_kind",
    "read_dtrek", "read_expt", "read_image", "read_matrix", "read_smv", "read_xparm", "registry", "resolution",
    "show", "start_values", "update_expt", "write_cbf", "write_expt",
    "write_geom", "write_smv", *_structs_all,
]  # fmt: skip
