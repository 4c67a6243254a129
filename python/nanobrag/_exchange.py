# SPDX-License-Identifier: MIT
"""Experiments and images in the files of other programs: DIALS, XDS, NXmx, miniCBF."""

from __future__ import annotations

import dataclasses
import os
import types
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _arrays
from ._context import Context
from ._convert import choice, fill, integer, number, record, string, text
from ._files import Path, SmvHeader, path_of
from ._lib import ffi, lib
from ._scene import Scene, scene_of
from ._simulator import Simulator, is_simulator
from ._structs import Compression, ExptImage, Found, Lattice, PanelCounts


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Experiment:
    """The geometry of an experiment from a file.

    Attributes:
        scene: what the file states; every other member has its default. It has no structure
            factors: ``experiment.scene.replace(crystal__hkl=...)`` gives it some.
        found: what that is
        count: experiments in the file
        images: images of the scan; 0: no scan
        space_group: Hermann-Mauguin symbol; "": not known
        counts: how each panel counts photons; empty without a detector

    Of a crystal, beam or goniometer that changes during the scan, ``scene`` has what it is in
    the middle of the first image, and `at` gives that of others.
    """

    scene: Scene
    found: Found
    count: int
    images: int
    space_group: str
    counts: tuple[PanelCounts, ...] = ()
    _points: Any = dataclasses.field(default=None, repr=False)

    def at(self, i: int) -> Scene:
        """The scene of image i of the scan, from 0 on, with its phi0.

        What changes during the scan is taken at the middle of the image.
        """
        scan = self.scene.scan
        phi = scan.phi0 + integer(i, "i") * scan.osc
        changes: dict[str, Any] = {"scan__phi0": phi}
        if self._points is not None:
            c = ffi.new("nb_scene *")
            mask = int(Found.CRYSTAL | Found.BEAM | Found.AXIS)
            found = Found(lib.nb_scan_points_set(self._points, phi + scan.osc / 2, mask, c, ffi.NULL))
            now = scene_of(c[0])
            if Found.CRYSTAL in found:
                changes |= {"crystal__matrix": now.crystal.matrix, "crystal__cell": now.crystal.cell}
            if Found.BEAM in found:
                changes["beam__direction"] = now.beam.direction
                changes["beam__wavelength"] = now.beam.wavelength
            if Found.AXIS in found:
                changes["scan__axis"] = now.scan.axis
            lattices = self.scene.crystal.lattice
            list_ = ffi.new("nb_lattice[]", len(lattices))
            for lattice, to in zip(lattices, list_, strict=True):
                fill(lattice, to, [])
            lib.nb_scan_points_set_lattices(self._points, phi + scan.osc / 2, len(lattices), list_)
            changes["crystal__lattice"] = [record(Lattice, one) for one in list_]
        return self.scene.replace(**changes)


def _read(function: Callable[..., int], *args: Any) -> Experiment:
    c, context = ffi.new("nb_experiment *"), Context(threads=1)
    with context.lock:
        try:
            context.run(function, context.pointer, *args, c)
            c.scene.crystal.system = lib.nb_crystal_system(c.space_group, c.scene.crystal.cell)
            points = ffi.gc(c.points, lib.nb_scan_points_free) if c.points else None
            c.points = ffi.NULL
            panels = max(c.scene.detector.npanel, 1) if c.counts else 0
            return Experiment(
                scene=scene_of(c.scene),
                found=Found(c.found),
                count=c.count,
                images=c.images,
                space_group=string(c.space_group),
                counts=tuple(record(PanelCounts, c.counts[k]) for k in range(panels)),
                _points=points,
            )
        finally:
            lib.nb_experiment_clear(c)


def read_expt(path: Path, i: int = 0, *, lattices: bool = False) -> Experiment:
    """Read an experiment of DIALS (.expt).

    Args:
        path: the file.
        i: which of its experiments, from 0 on.
        lattices: the other crystals of its image, as of a split crystal, become lattices of
            the scene, each as bright as the first.

    Raises:
        ArgumentError: the file has no experiment i.
        FileError: it cannot be read.
        FormatError: it is no list of experiments; the text names what is wrong.
        UnsupportedError: pixels that are not square, lattices of different space groups, or a
            build without cJSON.
    """
    function = lib.nb_expt_read_lattices if lattices else lib.nb_expt_read
    return _read(function, path_of(path), integer(i, "i"))


def expt_images(path: Path) -> list[ExptImage]:
    """List the images that the experiments of DIALS in a file (.expt) name.

    An image that is not where the file says is looked for beside it, also with .gz or .bz2
    appended. `read_image(image.file, max(image.frame, 0))` reads one.

    Raises:
        FileError: the file cannot be read.
        FormatError: it is no list of experiments; the text names what is wrong.
        UnsupportedError: a build without cJSON.
    """
    c, n, context = ffi.new("nb_expt **"), ffi.new("size_t *"), Context(threads=1)
    with context.lock:
        context.run(lib.nb_expt_open, context.pointer, path_of(path), c)
        try:
            images = lib.nb_expt_images(c[0], n)
            return [record(ExptImage, images[i]) for i in range(n[0])]
        finally:
            lib.nb_expt_free(c[0])


def read_xparm(path: Path) -> Experiment:
    """Read a file XPARM.XDS or GXPARM.XDS of XDS.

    Raises:
        FileError: it cannot be read.
        FormatError: a line is wrong; the text names it.
        UnsupportedError: several segments, or pixels that are not square.
    """
    return _read(lib.nb_xparm_read, path_of(path))


def read_dtrek(path: Path) -> Experiment:
    """Read the experiment that the header of an SMV image states in the terms of d*TREK.

    `Experiment.found` is 0 for a header of another kind.

    Raises:
        FileError: it cannot be read.
        FormatError: keys are missing or contradict each other; the text names them.
        UnsupportedError: several detectors, or pixels that are not square.
    """
    header = SmvHeader(path)
    return _read(lib.nb_smv_experiment, header._pointer, path_of(path))


def _options(ctype: str, **values: Any) -> Any:
    """A struct of C from numbers."""
    c = ffi.new(f"{ctype} *")
    for name, value in values.items():
        try:
            setattr(c, name, value)
        except (TypeError, OverflowError):
            raise TypeError(f"{name}: {value!r} does not fit into its type of C") from None
    return c


def write_expt(
    sim: Simulator,
    path: Path,
    x: Any = None,
    *,
    images: int = 0,
    first: int = 0,
    files: str | None = None,
    fast_along_x: bool = False,
    space_group: str | None = None,
    pedestal: float = 0.0,
    trusted: Sequence[float] = (0.0, 0.0),
    shots: Any = None,
    scan_points: Any = None,
) -> None:
    """Write the scene of a simulator at x as experiments of DIALS (.expt).

    Args:
        sim: the simulator.
        path: ends in .expt by convention; replaced by rename.
        x: parameters (nparam,); None: those of ``sim.x``.
        images: of the scan; 0: 1. Without an oscillation range each is a still.
        first: number of the first image; 0: 1.
        files: their files, as a template with a run of '#' or one file; None: none.
        fast_along_x: everything is turned about the beam until the fast axis points along +x,
            as readers of miniCBF and SMV take it.
        space_group: Hermann-Mauguin symbol; None: P 1.
        pedestal: added to each pixel, counts.
        trusted: smallest and largest count that was measured; 0 0: any.
        shots: rows of x (images, nparam), one for each image, which is then a still with a
            crystal, a beam and a detector of its own; None: all are taken at x.
        scan_points: rows of x (images + 1, nparam), at the start of each image of a sweep and
            at the end of the last one, of a crystal that changes; None: it does not.

    Raises:
        ArgumentError: an unknown space group, negative numbers, or x outside its bounds.
        UnsupportedError: a curved or skew detector, or a build without cJSON.
        FileError: the file cannot be written.
    """
    is_simulator(sim)
    keep: list[Any] = []
    if len(trusted) != 2:
        raise ValueError(f"trusted: expected the smallest and the largest count, not {trusted!r}")
    rows = None if shots is None else _arrays.vector(shots, sim.nparam, "shots")
    if rows is not None and rows.ndim != 2:
        raise ValueError(f"shots has the shape {rows.shape}; expected (images, {sim.nparam})")
    points = None if scan_points is None else _arrays.vector(scan_points, sim.nparam, "scan_points")
    if points is not None and (points.ndim != 2 or len(points) != max(images, 1) + 1):
        raise ValueError(f"scan_points has the shape {points.shape}; expected (images + 1, {sim.nparam})")
    if rows is not None and images not in (0, len(rows)):
        raise ValueError(f"shots has {len(rows)} rows, but images={images}; make both the same")
    how = _options(
        "nb_expt_options",
        images=images if rows is None else len(rows),
        shots=ffi.NULL if rows is None else _arrays.pointer(rows),
        scan_points=ffi.NULL if points is None else _arrays.pointer(points),
        first=first,
        fast_along_x=bool(fast_along_x),
        pedestal=number(pedestal, "pedestal"),
        trusted=[number(value, "trusted") for value in trusted],
        files=ffi.NULL if files is None else text(files, keep, "files"),
        space_group=ffi.NULL if space_group is None else text(space_group, keep, "space_group"),
    )
    with sim._context.lock:
        at, held = sim._at(x)
        sim._context.run(lib.nb_expt_write, sim._pointer(), at, path_of(path), how)
        del held


def update_expt(path: Path, to: Path, changes: Mapping[int, Simulator | tuple[Simulator, Any]]) -> None:
    """Write an .expt again, with experiments as scenes have them.

    Crystal, beam, detector and goniometer follow the scenes; all else in the file stays.

    Args:
        path: the file that is read.
        to: the file that is written, replaced by rename; it may be the same.
        changes: by the number of an experiment, a simulator of a scene that was made from it, or
            a pair of a simulator and x (nparam,).

    Raises:
        ArgumentError: no such experiment, or a scene in another frame than `read_expt` gives.
        SceneError: the scene has other numbers of panels, groups or lattices.
        FormatError: the file is damaged.
        UnsupportedError: a curved detector, or a build without cJSON.
        FileError: the file cannot be read or written.
    """
    context = Context(threads=1)
    out = ffi.new("nb_expt_update **")
    with context.making(lib.nb_expt_update_free, out):
        context.run(lib.nb_expt_update_begin, context.pointer, path_of(path), out)
        for i, change in changes.items():
            sim, x = change if isinstance(change, tuple) else (change, None)
            with is_simulator(sim)._context.lock:
                at, held = sim._at(x)
                context.run(lib.nb_expt_update_add, out[0], integer(i, "changes"), sim._pointer(), at)
                del held
        context.run(lib.nb_expt_update_write, out[0], path_of(to))
    lib.nb_expt_update_free(out[0])


def check_cbf(sim: Simulator, x: Any = None) -> None:
    """Check whether a miniCBF can state the geometry of the image at x.

    Raises:
        UnsupportedError: it cannot; the text says why.
    """
    with is_simulator(sim)._context.lock:
        at, held = sim._at(x)
        sim._context.run(lib.nb_cbf_check, sim._pointer(), at)
        del held


def write_cbf(sim: Simulator, path: Path, counts: Any, x: Any = None, *, overload: float = 0.0) -> None:
    """Write an image as a miniCBF, whose header states the scene of a simulator at x.

    Args:
        sim: the simulator that made the image.
        path: the file, replaced by rename.
        counts: uint16 or int32, dense, on the host                          (nslow, nfast)
        x: parameters (nparam,); None: those of ``sim.x``.
        overload: largest count that is valid; 0: one below the largest of the type.

    Raises:
        UnsupportedError: a geometry that the format cannot state (`check_cbf`).
        FileError: the file cannot be written.
    """
    is_simulator(sim)
    c = ffi.new("nb_array *")
    keep = _arrays.describe(counts, c, "counts", write=False, kind="counts")
    with sim._context.lock:
        at, held = sim._at(x)
        limit = number(overload, "overload")
        sim._context.run(lib.nb_cbf_write, sim._pointer(), at, path_of(path), limit, c)
        del keep, held


def _free(pointer: Any, sim: Simulator) -> None:
    lib.nb_nxmx_free(pointer)


class Nxmx:
    """An NXmx file (HDF5) that is being written, one frame after the other.

    Args:
        sim: the simulator that makes the images.
        path: nothing is there before `close`, and an older file stays until then.
        compression: "deflate", "none", "lz4" or "bslz4".
        level: of "deflate", 1 to 9; 0: 1.
        dtype: of the pixels: int32, uint16 or float32.
        stills: frames are stills, whatever the scan.
        master: the pixels stay in other files, see `append_file`.
        frames: most frames that will be appended; 0: not known.
        start, step: start of the first frame and width of each, degree, if step is not 0; else
            those of the scene at the x of each frame.
        underload: smallest count that is valid.
        overload: largest count that is valid; 0: one below the largest of the type.

    Raises:
        ArgumentError: an option out of range.
        UnsupportedError: a build or machine without HDF5, a compression whose filter HDF5 does
            not find, or a detector that is curved or skew.
        FileError: the file cannot be made.

    In a ``with`` the file is complete at the end, and dropped after an exception::

        with nanobrag.Nxmx(sim, "still.nxs") as file:
            file.append(sim.digitize(sim(), dtype="int32").counts)
    """

    def __init__(
        self,
        sim: Simulator,
        path: Path,
        *,
        compression: Compression | str = Compression.DEFLATE,
        level: int = 0,
        dtype: Any = np.int32,
        stills: bool = False,
        master: bool = False,
        frames: int = 0,
        start: float = 0.0,
        step: float = 0.0,
        underload: float = 0.0,
        overload: float = 0.0,
    ) -> None:
        is_simulator(sim)
        pixels = np.dtype(dtype)
        if pixels not in (np.dtype(np.int32), np.dtype(np.uint16), np.dtype(np.float32)):
            raise TypeError(f"dtype is {pixels}; expected int32, uint16 or float32")
        how = _options(
            "nb_nxmx_options",
            compression=choice(Compression, compression, "compression"),
            level=level,
            type=_arrays.KINDS[pixels.kind],
            bits=8 * pixels.itemsize,
            stills=bool(stills),
            master=bool(master),
            frames=frames,
            start=number(start, "start"),
            step=number(step, "step"),
            underload=number(underload, "underload"),
            overload=number(overload, "overload"),
        )
        self._sim, self._kind, self.path = sim, str(pixels), os.fspath(path)
        out = ffi.new("nb_nxmx **")
        with sim._context.lock:
            sim._context.run(lib.nb_nxmx_create, sim._pointer(), path_of(path), how, out)
        self._c = out[0]
        # the file outlives neither its simulator nor that one's context
        self._finalizer = weakref.finalize(self, _free, self._c, sim)
        sim._files.add(self)

    def _pointer(self) -> Any:
        if not self._finalizer.alive:
            raise ValueError(f"{os.fsdecode(self.path)}: this file was closed")
        self._sim._context.idle()
        return self._c

    def append(self, image: Any, x: Any = None) -> None:
        """Append a frame.

        Args:
            image: pixels of the file's dtype, dense, on the host              (nslow, nfast)
            x: parameters that it was computed at (nparam,); None: those of ``sim.x``.

        Raises:
            ArgumentError: a frame that does not continue the sweep, or one too many.
            UnsupportedError: what may not differ from frame to frame does, as the detector.
        """
        c = ffi.new("nb_array *")
        keep = _arrays.describe(image, c, "image", write=False, kind=self._kind)
        with self._sim._context.lock:
            at, held = self._sim._at(x)
            self._sim._context.run(lib.nb_nxmx_append, self._pointer(), at, c)
            del keep, held

    def append_file(self, path: Path, x: Any) -> None:
        """Append to a master all frames of another file, whose pixels stay there.

        Args:
            path: as the master names it; a relative one begins in the folder of the master.
            x: parameters of each frame                                 (nframe, nparam)

        Raises:
            ShapeError: another number of frames, or pixels of another size or type.
            FileError: the file cannot be read.
        """
        rows = np.ascontiguousarray(x, np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self._sim.x):
            raise ValueError(f"x has shape {rows.shape}; expected (nframe, {len(self._sim.x)})")
        with self._sim._context.lock:
            at = ffi.cast("const double *", ffi.from_buffer(rows)) if rows.size else ffi.NULL
            name = path_of(path)
            self._sim._context.run(lib.nb_nxmx_append_file, self._pointer(), name, len(rows), at)

    def close(self) -> None:
        """Complete the file with the frames it has and rename it to its path.

        Raises:
            ArgumentError: no frame was appended; nothing new is at the path.
        """
        with self._sim._context.lock:
            pointer = self._pointer()
            self._finalizer.detach()
            self._sim._context.run(lib.nb_nxmx_close, pointer)

    def drop(self) -> None:
        """Leave nothing behind."""
        with self._sim._context.lock:
            self._sim._context.idle()
            self._finalizer()

    def __enter__(self) -> Nxmx:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: object, trace: types.TracebackType | None) -> None:
        if kind is not None:
            self.drop()
        elif self._finalizer.alive:
            self.close()

    @staticmethod
    def count(path: Path) -> int:
        """The number of frames of a file, or of a master.

        Raises:
            FileError: it cannot be read.
            FormatError: it has no array of frames.
        """
        out, context = ffi.new("int64_t *"), Context(threads=1)
        with context.lock:
            context.run(lib.nb_nxmx_count, context.pointer, path_of(path), out, ffi.NULL)
        return int(out[0])

    @staticmethod
    def can_compress(compression: Compression | str) -> bool:
        """Whether this build and this machine can write a compression.

        >>> isinstance(Nxmx.can_compress("deflate"), bool)
        True
        """
        return bool(lib.nb_nxmx_can_compress(choice(Compression, compression, "compression")))
