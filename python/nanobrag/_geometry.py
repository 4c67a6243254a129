# SPDX-License-Identifier: MIT
"""Detectors of panels from geometry files of CrystFEL (.geom), and to them."""

from __future__ import annotations

import weakref
from typing import Any

from ._context import Context
from ._convert import choice, number, record
from ._errors import SceneError
from ._files import Path, path_of
from ._lib import ffi, lib
from ._scene import Scene, scene_of
from ._simulator import Simulator, is_simulator
from ._structs import Convention, GeometryInfo

# members of a detector that a geometry sets, besides mask, panel and group
_SET = ("nslow", "nfast", "pixel", "origin_kind", "origin", "distance", "close_distance", "twotheta",
        "size", "curved", "also_kind", "also", "vectors", "roi", "box")  # fmt: skip


def _free(pointer: Any) -> None:
    lib.nb_geometry_free(pointer)


class Geometry:
    """A detector of panels in groups, as a geometry file of CrystFEL states it; never changes.

    Args:
        path: the file.

    Raises:
        FileError: it cannot be read.
        FormatError: a line is wrong; the text names it.
        UnsupportedError: electrons, or a detector shift that is in a data file.

    Lines that nobody understands are warnings (`NanobragWarning`). ``info`` tells the extent, and
    where in a data file the distance or the wavelength is, if the file does not state it.
    """

    def __init__(self, path: Path) -> None:
        out = ffi.new("nb_geometry **")
        context = Context(threads=1)
        with context.making(lib.nb_geometry_free, out):
            context.run(lib.nb_geom_read, context.pointer, path_of(path), out)
        self._pointer = out[0]
        weakref.finalize(self, _free, self._pointer)
        info = ffi.new("nb_geometry_info *")
        lib.nb_geometry_info_get(self._pointer, info)
        self.info: GeometryInfo = record(GeometryInfo, info)

    def apply(self, scene: Scene) -> Scene:
        """Return a copy of a scene with this detector, in the frame of the scene's convention.

        What placed its rectangle is gone, and so are its region of interest and boxes; its distance,
        if not 0, is taken for clen of the file, and its wavelength, if not 0, stays.

        Raises:
            SceneError: the file says that the distance or the wavelength is in a data file, and the
                scene has none.
        """
        if not isinstance(scene, Scene):
            raise TypeError(f"scene: expected a Scene, not {scene!r}")
        detector, beam = scene.detector, scene.beam
        c = ffi.new("nb_scene *")
        c.detector.convention = choice(Convention, detector.convention, "detector.convention")
        c.detector.distance = number(detector.distance, "detector.distance")
        for i, axis in enumerate(detector.vectors):
            c.detector.vectors[i] = [number(value, "detector.vectors") for value in axis]
        c.beam.wavelength = number(beam.wavelength, "beam.wavelength")
        c.beam.nsource = len(beam.source)
        status = lib.nb_geometry_apply(self._pointer, c)
        if status:
            lacks = [
                f"{name} ({where or 'not in the file'})"
                for name, where in (
                    ("detector.distance", self.info.distance_from),
                    ("beam.wavelength", self.info.wavelength_from),
                )
                if where is not None
            ]
            raise SceneError(f"the scene needs {' and '.join(lacks)}, which the geometry does not give")
        c.beam.nsource = 0
        made = scene_of(c).detector
        members = {f"detector__{name}": getattr(made, name) for name in _SET}
        members |= {f"detector__{name}": getattr(made, name) for name in ("mask", "panel", "group")}
        return scene.replace(beam__wavelength=c.beam.wavelength, **members)


def write_geom(sim: Simulator, path: Path, x: Any = None) -> None:
    """Write the detector of a simulator at x as a geometry file of CrystFEL.

    Args:
        sim: the simulator.
        path: ends in .geom by convention; replaced by rename.
        x: parameters (nparam,); None: those of ``sim.x``.

    Raises:
        UnsupportedError: a curved or skew detector.
        FileError: the file cannot be written.
    """
    with is_simulator(sim)._context.lock:
        at, held = sim._at(x)
        sim._context.run(lib.nb_geom_write, sim._pointer(), at, path_of(path))
        del held
