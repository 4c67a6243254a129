# SPDX-License-Identifier: MIT
"""The simulator: images of a scene at any value of its parameters, and their derivatives."""

from __future__ import annotations

import html
import itertools
import warnings
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _structs
from ._context import Context, Progress, progress_bar
from ._convert import choice, fill, integer, number, record, whole, words
from ._errors import NanobragWarning
from ._gradcheck import Gradcheck, run_gradcheck
from ._lib import ffi, lib
from ._parameters import Parameters
from ._reflections import Reflections
from ._scene import Scene, read_command, scene_of
from ._structs import Compile, LossKind, Precision, Strategy, Target

if TYPE_CHECKING:
    from ._least_squares import LeastSquares

Floats = NDArray[np.float64]
Image = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Loss:
    """A loss with its derivatives, or a normal matrix; what was not asked for is None.

    Attributes:
        value: the loss; inf where it has no finite value, and the derivatives are nan then
        gradient: dL/dx, or J^T W r of a normal matrix                          (nparam)
        matrix: J^T W J of the parameters that are not structure factors        (ndense, ndense)
        diagonal: diagonal of J^T W J of all parameters                         (nparam)
        coupling: J^T W J, the other parameters x structure factors             (ndense, nF)
        message: why the loss has no finite value; "" where it has one
    """

    value: float
    gradient: Floats | None = None
    matrix: Floats | None = None
    diagonal: Floats | None = None
    coupling: Floats | None = None
    message: str = ""


class Counts(NamedTuple):
    """What a detector counts.

    Attributes:
        counts: uint16 or int32                                                 (nslow, nfast)
        photons: sum of the drawn photons
        overloads: how many pixels were clamped at `saturation`
    """

    counts: NDArray[Any]
    photons: float
    overloads: int

    @property
    def saturation(self) -> int:
        """The largest count of the type, which means "at least so many"."""
        return 65535 if self.counts.dtype.itemsize == 2 else 2**31 - 1


def _free(pointer: Any, context: Context) -> None:
    lib.nb_simulator_free(pointer)


def free_names(free: str | Sequence[str]) -> str:
    """Names of parameters in one text."""
    if isinstance(free, str):
        return free
    if not np.iterable(free):
        raise TypeError(f"expected names of parameters, not {free!r}")
    return " ".join(str(name) for name in free)


def as_target(target: Any) -> Target:
    """A target, or an observed image with a Gaussian loss.

    Counts, as whole numbers, become photons, and the largest number of their type the saturation.
    """
    if isinstance(target, Counts):
        target = target.counts
    found = target if isinstance(target, Target) else Target(kind=LossKind.GAUSS, observed=target)
    counts = found.observed.counts if isinstance(found.observed, Counts) else found.observed
    if not isinstance(counts, np.ndarray) or counts.dtype.kind not in "iu":
        return found
    most = float(np.iinfo(counts.dtype).max)
    return found.replace(observed=counts.astype(np.float64), saturation=found.saturation or most)


def warn_of_a_ceiling(target: Target) -> None:
    """Warn of photons that look like counts cut off at 16 bits, and taken at their word."""
    observed = target.observed
    if not isinstance(observed, np.ndarray) or target.saturation or not observed.size:
        return
    if observed.max() == 65535:
        n = np.count_nonzero(observed == 65535)
        warnings.warn(
            f"observed pixels of 65535, the largest 16-bit number, count as exact ({n} in all): pass the "
            "counts as whole numbers, or Target(saturation=65535)",
            NanobragWarning,
            stacklevel=3,
        )


def is_simulator(sim: Any) -> Simulator:
    """A simulator, or a TypeError."""
    if not isinstance(sim, Simulator):
        raise TypeError(f"sim: expected a Simulator, not {sim!r}")
    return sim


# simulators by number, for operators that take no objects
_simulators: weakref.WeakValueDictionary[str, Simulator] = weakref.WeakValueDictionary()
_numbers = itertools.count(1)


def simulator_of(key: str) -> Simulator:
    """The simulator of a number."""
    found = _simulators.get(key)
    if found is None:
        raise ValueError("the simulator of this operator was freed; keep a reference to it")
    return found


class TargetOfC:
    """An nb_target, and what it points to."""

    def __init__(self, target: Target, *, needs_observed: bool = True) -> None:
        self.c = ffi.new("nb_target *")
        self.keep: list[Any] = []
        self.fill(target, self.c, needs_observed)

    def fill(self, target: Target, c: Any, needs_observed: bool = True) -> None:
        """Set an nb_target."""
        if target.observed is None and needs_observed:
            raise TypeError("target.observed: expected an image of observed photons, not None")
        fill(target.replace(observed=None, weight=None), c, self.keep, "target")
        for name in ("observed", "weight"):
            image = getattr(target, name)
            if image is not None:
                array = ffi.new("nb_array *")
                self.keep += [array, _arrays.describe(image, array, name, write=False)]
                setattr(c, name, array)


class Simulator:
    """A scene that is ready to run.

    Args:
        scene: what is simulated.
        free: names of the free parameters, as "misset cell" or ["misset", "cell"]; x has their
            order. `parameters` lists them, `nanobrag.registry()` all that there are.
        precision: "double" or "single", of the loops over pixels.
        strategy: "auto", "reference", "lanes" or "spots".
        tolerance: allowed error of a pixel, as a fraction of the brightest; 0: the default.
        threads: 0: the environment decides, else every core.
        device: "auto", "cpu", "cuda" or "cuda:N"; None: NANOBRAG_DEVICE, else the CPU.
        compile: "on", "off", "tune" (the same as on) or "require".
        progress: True for a bar of tqdm where it is installed, or a function that is called
            with the fraction done.

    Raises:
        ArgumentError: a number out of range, an unknown name, or a parameter that the scene
            lacks.
        SceneError: members that contradict each other; UnitCellError without a cell.
        UnsupportedError: something that this build or machine lacks.

    All calls compute in the units of the parameters and in photons per pixel. Several threads may
    use one simulator; they wait for each other. Ctrl-C stops a call. A simulator pickles as its
    scene, options and x.

    >>> from nanobrag import Scene, Simulator
    >>> scene = Scene.from_cli("-cell 50 60 70 90 90 90 -default_F 100 -N 5 -gauss_xtal "
    ...                        "-fluence 1e28 -detpixels 64 -pixel 0.4 -misset 10 20 30")
    >>> sim = Simulator(scene, free="misset")
    >>> image = sim()
    >>> image.shape, image.dtype
    ((64, 64), dtype('float64'))
    >>> sim.loss([10, 20, 30.05], image).gradient.shape
    (3,)
    """

    def __init__(
        self,
        scene: Scene,
        free: str | Sequence[str] = "",
        *,
        precision: Precision | str = Precision.DOUBLE,
        strategy: Strategy | str = Strategy.AUTO,
        tolerance: float = 0.0,
        threads: int = 0,
        device: str | None = None,
        compile: Compile | str = Compile.ON,
        progress: bool | Progress | None = None,
    ) -> None:
        if not isinstance(scene, Scene):
            raise TypeError(f"scene: expected a Scene, not {scene!r}")
        self.scene = scene = scene._with_factors()
        self.free = free_names(free)
        self.progress = progress
        self.options = _structs.Options(
            precision=choice(Precision, precision, "precision"),
            strategy=choice(Strategy, strategy, "strategy"),
            tolerance=tolerance,
        )
        self._settings: dict[str, Any] = {
            "threads": threads,
            "device": device,
            "compile": choice(Compile, compile, "compile"),
        }
        self._context = Context(**self._settings)
        keep: list[Any] = []
        options = ffi.new("nb_options *")
        fill(self.options, options, keep)
        out = ffi.new("nb_simulator **")
        c = scene._to_c(keep)
        with self._context.making(lib.nb_simulator_free, out):
            self._run(lib.nb_simulator_create, self._context.pointer, c, words(self.free, "free"), options, out)
        self._c = out[0]
        self._finalizer = weakref.finalize(self, _free, self._c, self._context)
        # files that are being written (Nxmx)
        self._files: weakref.WeakSet[Any] = weakref.WeakSet()
        self._image = ffi.new("nb_array *")
        self._x: Floats | None = None
        self.nparam = int(lib.nb_simulator_nparam(self._c))
        self.ndense = int(lib.nb_simulator_ndense(self._c))
        # what an operator of torch or jax knows it by
        self.key = str(next(_numbers))
        _simulators[self.key] = self
        description = self.describe()
        self.shape = (description.nslow, description.nfast)
        # what most calls pass, in which only the address changes
        self._dense = ffi.new("nb_array *")
        self._dense[0] = lib.nb_array_f64(ffi.NULL, *self.shape)
        self._dense.name = self._image_name = ffi.new("char[]", b"image")

    @classmethod
    def from_cli(cls, command: str | Sequence[str], free: str | Sequence[str] = "", **more: Any) -> Simulator:
        """Make the simulator of a command line of the program, with its -precision, -strategy
        and -tolerance; see `Scene.from_cli`.

        >>> Simulator.from_cli("-cell 50 60 70 90 90 90 -default_F 100 -detpixels 8").shape
        (8, 8)
        """
        scene, options = read_command(command)
        given = {"precision": options.precision, "strategy": options.strategy, "tolerance": options.tolerance}
        return cls(scene, free, **{**given, **more})

    # ---- life ----

    def close(self) -> None:
        """Free the memory now; every later call is a ValueError, and files not closed are dropped."""
        for file in list(self._files):
            file.drop()
        with self._context.lock:
            self._context.idle()
            self._finalizer()

    def __enter__(self) -> Simulator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stop(self) -> None:
        """Make the call in progress, or else the next one, raise CancelledError; from any thread."""
        self._context.stop()

    def _pointer(self) -> Any:
        if not self._finalizer.alive:
            raise ValueError("this simulator was closed; make another from its scene")
        self._context.idle()
        return self._c

    def __reduce__(self) -> tuple[Any, ...]:
        options = {
            "precision": self.options.precision,
            "strategy": self.options.strategy,
            "tolerance": self.options.tolerance,
            **self._settings,
        }
        return _rebuilt, (self.scene, self.free, options, self._x)

    def _run(self, function: Any, *args: Any, what: str = "image") -> None:
        if not self.progress:
            self._context.run(function, *args)
            return
        show, close = progress_bar(self.progress, what)
        self._context._ask.progress = show
        try:
            self._context.run(function, *args)
        finally:
            self._context._ask.progress = None
            close()

    # ---- parameters ----

    @property
    def parameters(self) -> Parameters:
        """The free parameters: names, units, values, bounds; a table where it is printed."""
        rows = []
        with self._context.lock:
            c = ffi.new("nb_param *")
            for i in range(self.nparam):
                self._context.run(lib.nb_simulator_param, self._pointer(), i, c)
                rows.append(record(_structs.Parameter, c))
        return Parameters(rows)

    @property
    def x(self) -> Floats:
        """The parameters that a call without x uses: at first those of the scene  (nparam)."""
        return self.parameters.values if self._x is None else self._x.copy()

    @x.setter
    def x(self, value: Any) -> None:
        x = _arrays.vector(value, self.nparam, "x")
        if x.ndim != 1:
            raise ValueError(f"x has the shape {x.shape}; expected ({self.nparam},)")
        self._x = x.copy()

    def _at(self, x: Any) -> tuple[Any, Any]:
        """The address of one x, and what keeps it alive."""
        if x is None:
            x = self._x
            if x is None:
                return ffi.NULL, None
        row = _arrays.vector(x, self.nparam, "x")
        if row.ndim != 1:
            raise ValueError(f"x has the shape {row.shape}; expected ({self.nparam},)")
        return _arrays.pointer(row), row

    # ---- images ----

    def __call__(self, x: Any = None, out: Any = None, *, dtype: Any = np.float64) -> Any:
        """Image I(x), photons per pixel.

        Args:
            x: parameters (nparam,), or several rows (n, nparam); None: those of `x`.
            out: float32 or float64 (nslow, nfast), written to without a copy: an array of numpy
                with any strides, or anything with __dlpack__, on the host or on the CUDA device
                that computes; for several rows (n, nslow, nfast) or a list of images. As every
                image that is passed, it may be (npanel, nslow/npanel, nfast) where equal panels
                are stacked.
            dtype: of a new image, float64 or float32.

        Returns:
            `out`, or a new array.

        Raises:
            ArgumentError: a parameter is outside its bounds.
            SceneError: x gives an impossible geometry or (UnitCellError) a flat cell.
            ShapeError, TypeError, ValueError: `out` cannot be used.
        """
        if x is not None and (x.ndim if type(x) is np.ndarray else np.ndim(x)) == 2:
            return self._batch(x, out, dtype)
        image = np.empty(self.shape, dtype) if out is None else out
        with self._context.lock:
            pointer = self._pointer()
            at, keep = self._at(x)
            if _arrays.is_dense(image, self.shape):
                c = self._dense
                held = c.data = ffi.from_buffer(image)
            else:
                c = self._image
                held = _arrays.describe(image, c, "image", write=True)
            self._run(lib.nb_forward, pointer, at, c)
            del keep, held
        return image

    def add(self, image: Any, x: Any = None, factor: float = 1) -> Any:
        """image += factor I(x): sums of images, as those of two states or several lattices.

        Args:
            image: photons, added to without a copy: as `out` of a call of the simulator; on a
                CUDA device dense.
            x: parameters (nparam,); None: those of `x`.
            factor: of the photons, may be negative.

        Returns:
            `image`.

        Raises:
            As a call of the simulator; ArgumentError: the factor is not finite. Nothing has been
            added then.
        """
        with self._context.lock:
            pointer = self._pointer()
            at, keep = self._at(x)
            held = _arrays.describe(image, self._image, "image", write=True)
            self._run(lib.nb_forward_add, pointer, at, number(factor, "factor"), self._image)
            del keep, held
        return image

    def _images(self, images: Any, n: int, name: str, write: bool) -> tuple[Any, list[Any]]:
        c = ffi.new("nb_array[]", n)
        if not isinstance(images, (list, tuple)) and getattr(images, "ndim", 3) not in (3, 4):
            raise ValueError(f"{name} has {images.ndim} axes; expected three (n, nslow, nfast)")
        if len(images) != n:
            raise ValueError(f"{name} has {len(images)} images; expected {n}")
        return c, [_arrays.describe(images[i], c[i], name, write=write) for i in range(n)]

    def _is_single(self, image: Any) -> bool:
        """Whether an array is one image, also of stacked panels, and not several."""
        shape = tuple(getattr(image, "shape", self.shape))
        if len(shape) != 3 or shape[1:] == self.shape:
            return len(shape) == 2
        return (shape[0] * shape[1], shape[2]) == self.shape

    def _batch(self, x: Any, out: Any, dtype: Any) -> Any:
        rows = _arrays.vector(x, self.nparam, "x")
        images = np.empty((len(rows), *self.shape), dtype) if out is None else out
        with self._context.lock:
            pointer = self._pointer()
            c, keep = self._images(images, len(rows), "image", True)
            self._run(lib.nb_forward_batch, pointer, len(rows), _arrays.pointer(rows), c)
            del keep
        return images

    # ---- derivatives ----

    def jvp(self, x: Any, dx: Any, out: Any = None, *, dtype: Any = np.float64) -> Any:
        """J dx: derivatives of the image along directions of the parameters, photons.

        Args:
            x: parameters (nparam,); None: those of `x`.
            dx: a direction (nparam,), or several (ndir, nparam), in the units of the parameters.
            out: images to be written, as in a call of the simulator, on the host.
            dtype: of new images.

        Returns:
            An image (nslow, nfast), or several (ndir, nslow, nfast).
        """
        directions = _arrays.vector(dx, self.nparam, "dx")
        single = directions.ndim == 1
        n = 1 if single else len(directions)
        made: Any = np.empty((n, *self.shape), dtype) if out is None else [out] if single else out
        with self._context.lock:
            pointer = self._pointer()
            at, keep = self._at(x)
            c, held = self._images(made, n, "dimage", True)
            self._run(lib.nb_jvp, pointer, at, n, _arrays.pointer(directions), c, what="jvp")
            del keep, held
        if out is not None:
            return out
        return made[0] if single else made

    def vjp(self, x: Any, bar: Any) -> Floats:
        """J^T bar: the gradient of the sum over pixels of bar times image.

        Args:
            x: parameters (nparam,); None: those of `x`.
            bar: cotangents dL/dimage, float32 or float64 (nslow, nfast), or several
                (n, nslow, nfast); on a CUDA device where that computes derivatives.

        Returns:
            dL/dx (nparam,), or (n, nparam) for several.
        """
        single = not isinstance(bar, (list, tuple)) and self._is_single(bar)
        bars = [bar] if single else bar
        n = len(bars)
        out = np.zeros((n, self.nparam))
        with self._context.lock:
            pointer = self._pointer()
            at, keep = self._at(x)
            c, held = self._images(bars, n, "bar_image", False)
            self._run(lib.nb_vjp, pointer, at, n, c, _arrays.pointer(out), what="vjp")
            del keep, held
        return out[0] if single else out

    def jacobian(self, x: Any = None, *, dtype: Any = np.float64) -> Any:
        """J: the derivatives of all pixels, photons per unit of each parameter.

        Returns:
            (nparam, nslow, nfast)
        """
        return self.jvp(x, np.eye(self.nparam), dtype=dtype)

    def _normal(self, gradient: bool, normal: bool) -> tuple[Any, dict[str, Any]]:
        results: dict[str, Any] = {}
        nfactor = self.nparam - self.ndense
        if gradient:
            results["gradient"] = np.zeros(self.nparam)
        if normal:
            results["matrix"] = np.zeros((self.ndense, self.ndense))
            results["diagonal"] = np.zeros(self.nparam)
            results["coupling"] = np.zeros((self.ndense, nfactor))
        c = ffi.new("nb_normal *")
        for name, array in results.items():
            setattr(c, name, _arrays.pointer(array))
        return c, results

    def loss(self, x: Any, target: Any, gradient: bool = True, normal: bool = False) -> Loss:
        """Sum of a loss over the pixels, with gradient and normal matrix; no image is kept.

        Args:
            x: parameters (nparam,); None: those of `x`.
            target: a `Target`, or observed photons (nslow, nfast) for half the sum of squares.
            gradient: whether dL/dx is wanted.
            normal: whether J^T W J is wanted, with W the curvature of the loss.

        Returns:
            A `Loss`. Where the loss has no finite value, because x is outside its bounds say,
            the value is inf and the derivatives are nan, so that a line search can step back.
        """
        made = TargetOfC(as_target(target))
        value = ffi.new("double *")
        out, results = self._normal(gradient, normal)
        with self._context.lock:
            pointer = self._pointer()
            at, keep = self._at(x)
            status = self._context.status(lib.nb_loss, pointer, at, made.c, value, out if results else ffi.NULL)
            if status not in (lib.NB_OK, lib.NB_ERR_DOMAIN):
                raise self._context.error(status)
            message = self._context.message() if status else ""
            del keep
        if status:
            for array in results.values():
                array[...] = np.nan
        return Loss(float(value[0]), message=message, **results)

    def jtj(self, x: Any = None, weight: Any = None, residual: Any = None) -> Loss:
        """J^T W J of a weighted fit, and J^T W r.

        Args:
            x: parameters (nparam,); None: those of `x`.
            weight: W (nslow, nfast); None: 1.
            residual: r = image - data, photons (nslow, nfast); None: no gradient.

        Returns:
            A `Loss` whose value is nan.
        """
        out, results = self._normal(residual is not None, True)
        images: dict[str, Any] = {}
        keep: list[Any] = []
        for name, image in (("weight", weight), ("residual", residual)):
            images[name] = ffi.NULL
            if image is not None:
                images[name] = ffi.new("nb_array *")
                keep.append(_arrays.describe(image, images[name], name, write=False))
        with self._context.lock:
            pointer = self._pointer()
            at, held = self._at(x)
            self._run(lib.nb_jtj, pointer, at, images["weight"], images["residual"], out, what="jtj")
            del keep, held
        return Loss(float("nan"), **results)

    def planes(self, x: Any, target: Target) -> Floats:
        """The planes of background at which `loss` has its value.

        Returns:
            a (photons), b and c (photons/pixel) of each box of the detector       (nbox, 3)
        """
        box = self.scene.detector.box
        made = TargetOfC(as_target(target))
        out = np.zeros((0 if box is None else len(np.asarray(box)), 3))
        with self._context.lock:
            at, keep = self._at(x)
            self._run(lib.nb_planes, self._pointer(), at, made.c, ffi.from_buffer("double[]", out))
            del keep
        return out

    def gradcheck(
        self, x: Any = None, bar: Any = None, *, seed: int = 0, ndirection: int = 0, coverage: float = 0.0
    ) -> Gradcheck:
        """Compare the derivatives with finite differences that carry error bars.

        Args:
            x: parameters (nparam,); None: those of `x`.
            bar: weights of one of the losses that are differentiated (nslow, nfast); None: 1.
            seed: of random weights and directions.
            ndirection: number of random directions in which all parameters move together;
                0: each parameter by itself, some sixty images for each.
            coverage: allowed deviation, in error bars; 0: 8.

        Returns:
            A `Gradcheck`, which is true if every derivative passed. A wrong derivative is a
            verdict, not an exception.
        """
        given = {"seed": seed, "ndirection": ndirection, "coverage": coverage}
        with self._context.lock:
            at, keep = self._at(x)
            found = run_gradcheck(self._run, self._pointer(), at, bar, given)
            del keep
        return found

    def least_squares(self, target: Any) -> LeastSquares:
        """What scipy needs to fit `target`; see `LeastSquares`."""
        from ._least_squares import LeastSquares

        found = as_target(target)
        warn_of_a_ceiling(found)
        return LeastSquares(self, found)

    # ---- what is simulated ----

    def describe(self, x: Any = None) -> _structs.Description:
        """Geometry in every convention, counts, and what computes it, at x."""
        out = ffi.new("nb_description *")
        with self._context.lock:
            at, keep = self._at(x)
            self._context.run(lib.nb_simulator_describe, self._pointer(), at, out)
            del keep
            return record(_structs.Description, out)

    def resolved(self, x: Any = None) -> Scene:
        """The scene at x with every default filled in."""
        out = ffi.new("nb_scene *")
        with self._context.lock:
            at, keep = self._at(x)
            self._context.run(lib.nb_simulator_resolved, self._pointer(), at, out)
            del keep
            return scene_of(out)

    def boxes(self, edge: int, most: int, x: Any = None) -> NDArray[np.int32]:
        """Boxes of pixels around the brightest reflections, for ``scene.detector.box``.

        Args:
            edge: edge of a box, 1 pixel or more.
            most: at most so many.
            x: parameters.

        Returns:
            fast0 fast1 slow0 slow1, ends excluded, the brightest first           (n, 4)
        """
        edge, most = integer(edge, "edge"), integer(most, "most")
        if most < 0:
            raise ValueError(f"most={most}; expected 0 or more")
        box, n = np.zeros((most, 4), dtype=np.intc), ffi.new("size_t *")
        with self._context.lock:
            at, keep = self._at(x)
            self._run(
                lib.nb_simulator_boxes, self._pointer(), at, edge, most, ffi.from_buffer("int[]", box), n, what="boxes"
            )
            del keep
        return box[: n[0]].copy()

    def spots(self, x: Any = None) -> list[_structs.Spot]:
        """The reflections that scatter onto the detector, the brightest first.

        Brightness is in photons, without the factors of polarization and solid angle, if the
        simulator integrates over the mosaic spread. Otherwise only its ratios count.
        """
        n = ffi.new("size_t *")
        with self._context.lock:
            at, keep = self._at(x)
            self._run(lib.nb_simulator_spots, self._pointer(), at, 0, ffi.NULL, n, what="spots")
            out = ffi.new("nb_spot[]", n[0])
            self._run(lib.nb_simulator_spots, self._pointer(), at, len(out), out, n, what="spots")
            del keep
        return [record(_structs.Spot, spot) for spot in out]

    def predict(self, x: Any = None, *, least: float = 1, id: int = 0, frame: float = 0) -> Reflections:
        """The reflections that scatter onto the detector, as a table of DIALS, the brightest first.

        Args:
            x: parameters.
            least: photons of the weakest reflection.
            id: column "id" of the first lattice; further lattices have the next numbers.
            frame: place of the image along a scan, as in xyzcal.px; 0 for a still.

        Returns:
            Columns as ``nb_predict()`` in reflections.h lists them: indices, centroid, bounding box,
            rays, and ``nanobrag.photons``, the photons for F = 1.
        """
        how = ffi.new("nb_prediction *")
        how.least, how.id, how.frame = number(least, "least"), integer(id, "id"), number(frame, "frame")
        out = ffi.new("nb_reflections **")
        with self._context.lock:
            at, keep = self._at(x)
            self._run(lib.nb_predict, self._pointer(), at, how, out, what="reflections")
            del keep
        return Reflections._of(out[0])

    def integrate(self, table: Reflections, target: Target, x: Any = None, *, id: int = 0, margin: int = 4) -> None:
        """Fit the intensities of reflections to an image, and set their columns in the table.

        Args:
            table: reflections with id, miller_index, panel and bbox, as those of `predict`.
            target: the observed photons, with the loss POISSON or READOUT. With its background
                PLANES a plane is fitted in each box.
            x: parameters.
            id: column "id" of the first lattice.
            margin: pixels around each bbox that are used too.

        ``intensity.prf.value`` becomes F^2 of the model in electron^2, ``intensity.prf.variance`` its
        variance; -1: not integrated. ``nb_integrate()`` in reflections.h has the other columns.
        """
        made = TargetOfC(target)
        how = ffi.new("nb_integration *", {"id": integer(id, "id"), "margin": integer(margin, "margin")})
        with self._context.lock:
            at, keep = self._at(x)
            self._run(lib.nb_integrate, self._pointer(), at, made.c, how, table._pointer, what="intensities")
            del keep

    def source(self, i: int, x: Any = None) -> _structs.Source:
        """Source i of the beam: unit direction, wavelength (A) and weight."""
        out = ffi.new("nb_source *")
        with self._context.lock:
            at, keep = self._at(x)
            self._context.run(lib.nb_simulator_source, self._pointer(), at, integer(i, "i"), out, ffi.NULL)
            del keep
            return record(_structs.Source, out)

    def panel(self, i: int, x: Any = None) -> _structs.Panel:
        """Panel i of the detector in the laboratory, after all moves, with its place in the image.

        A detector that is one rectangle has one panel.
        """
        out = ffi.new("nb_panel *")
        with self._context.lock:
            at, keep = self._at(x)
            self._context.run(lib.nb_simulator_panel, self._pointer(), at, integer(i, "i"), out)
            del keep
            return record(_structs.Panel, out)

    def orientation(self, phi_step: int = 0, domain: int = 0, x: Any = None) -> Floats:
        """The crystal axes a, b, c as rows, A, of one phi step and mosaic domain  (3, 3)."""
        out = np.zeros((3, 3))
        step, domain = integer(phi_step, "phi_step"), integer(domain, "domain")
        with self._context.lock:
            at, keep = self._at(x)
            self._context.run(
                lib.nb_simulator_orientation, self._pointer(), at, step, domain, ffi.from_buffer("double[]", out)
            )
            del keep
        return out

    def trace(self, slow: int, fast: int, x: Any = None, *, panel: int = 0) -> _structs.PixelTrace:
        """The factors of one pixel of a panel, counted on the panel, by the reference kernel."""
        out = ffi.new("nb_pixel_trace *")
        panel, slow, fast = integer(panel, "panel"), integer(slow, "slow"), integer(fast, "fast")
        with self._context.lock:
            at, keep = self._at(x)
            self._context.run(lib.nb_simulator_trace, self._pointer(), at, panel, slow, fast, out)
            del keep
            return record(_structs.PixelTrace, out)

    def explain(self) -> str:
        """What compiled mode decided and why, in lines of text."""
        with self._context.lock:
            return str(ffi.string(lib.nb_simulator_explain(self._pointer())).decode())

    def stats(self) -> _structs.CompileStats:
        """What compiled mode did."""
        out = ffi.new("nb_compile_stats *")
        with self._context.lock:
            lib.nb_simulator_stats(self._pointer(), out)
            return record(_structs.CompileStats, out)

    # ---- finished images ----

    def statistics(self, image: Any, x: Any = None) -> _structs.Statistics:
        """Maximum, sum, mean and deviation of an image (nslow, nfast) on the host."""
        c, out = ffi.new("nb_array *"), ffi.new("nb_statistics *")
        keep = _arrays.describe(image, c, "image", write=False)
        with self._context.lock:
            at, held = self._at(x)
            self._context.run(lib.nb_statistics_get, self._pointer(), at, c, out)
            del keep, held
            return record(_structs.Statistics, out)

    def digitize(
        self,
        photons: Any,
        out: Any = None,
        *,
        scale: float = 0.0,
        offset: float = 0.0,
        noise: bool = False,
        seed: int = 0,
        image: int = 0,
        dtype: Any = np.uint16,
    ) -> Counts:
        """What a detector would count for an image.

        Args:
            photons: float32 or float64 (nslow, nfast).
            out: uint16 or int32 (nslow, nfast) to be written; None: a new array.
            scale: without noise, counts per photon; 0: 55000/max of the image.
            offset: pedestal, counts.
            noise: whether photons are drawn by Poisson's distribution.
            seed: of the random numbers; the same bits on every machine.
            image: index in a series, for independent noise.
            dtype: of a new array, uint16 or int32.
        """
        counts = np.empty(self.shape, dtype) if out is None else out
        how, c = ffi.new("nb_digitizer *"), ffi.new("nb_array[2]")
        sums = ffi.new("double *"), ffi.new("int64_t *")
        try:
            how.scale, how.offset, how.noise = number(scale, "scale"), number(offset, "offset"), bool(noise)
            how.seed, how.image = whole(seed, "seed"), whole(image, "image")
        except OverflowError:
            raise ValueError(f"seed={seed} or image={image} does not fit into its type of C") from None
        how.photons, how.overloads = sums
        keep = [
            _arrays.describe(photons, c[0], "image", write=False),
            _arrays.describe(counts, c[1], "counts", write=True, kind="counts"),
        ]
        with self._context.lock:
            self._context.run(lib.nb_digitize, self._pointer(), how, c, c + 1)
            del keep
        return Counts(counts, float(sums[0][0]), int(sums[1][0]))

    def set_stream(self, stream: int | None) -> None:
        """Run the work of a CUDA device in a stream of the caller.

        Args:
            stream: its address, as ``torch.cuda.current_stream().cuda_stream``, where 0 is the
                legacy default stream; None: a stream of the library.
        """
        handle = ffi.NULL if stream is None else ffi.cast("void *", stream or 1)
        with self._context.lock:
            self._context.run(lib.nb_simulator_set_stream, self._pointer(), handle)

    def __repr__(self) -> str:
        state = "" if self._finalizer.alive else ", closed"
        return f"<Simulator: {self.shape[0]} x {self.shape[1]} pixels, {self.nparam} free parameters{state}>"

    def _repr_html_(self) -> str:
        if not self._finalizer.alive:
            return f"<code>{html.escape(repr(self))}</code>"
        description = self.describe()
        lines = (
            f"<b>{self.shape[0]} x {self.shape[1]} pixels</b> at {description.distance:g} mm, {description.kernel} "
            f"kernel on {html.escape(description.device)}, {description.evaluations:.3g} samples"
        )
        return f"<div>{lines}</div>{self.parameters._repr_html_() if self.nparam else ''}"


def _rebuilt(scene: Scene, free: str, options: dict[str, Any], x: Floats | None) -> Simulator:
    sim = Simulator(scene, free, **options)
    if x is not None:
        sim.x = x
    return sim
