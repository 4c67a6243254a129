# SPDX-License-Identifier: MIT
"""Fits of parameters to one observed image, or to thousands."""

from __future__ import annotations

import dataclasses
import math
import types
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays
from ._context import Context
from ._convert import choice, fill, integer, number, record, string, vector, words
from ._errors import NanobragWarning
from ._files import Path, path_of
from ._lib import ffi, lib
from ._scene import Scene
from ._simulator import Loss, Simulator, TargetOfC, as_target, free_names, warn_of_a_ceiling
from ._structs import (
    Coarse,
    FitCorrelation,
    FitErrors,
    FitImage,
    FitMethod,
    FitMisfit,
    FitOutlier,
    FitResultMembers,
    FitScaling,
    FitShot,
    FitState,
    FitValue,
    Misfit,
    Options,
    Restraint,
    SpotSize,
    StartValues,
    Target,
)

Floats = NDArray[np.float64]


@dataclasses.dataclass(kw_only=True)
class Shot:
    """One observed image and the scene it is compared with, whose values are the start.

    Attributes:
        scene: the scene
        target: the observed photons and the loss; an image alone has a Gaussian loss
        options: how the shot is computed; None: all defaults
        name: in messages and results; None: "shot N"
    """

    scene: Scene
    target: Target | Any = dataclasses.field(default_factory=Target)
    options: Options | None = None
    name: str | None = None


class FitResult(FitResultMembers):
    """What a fit found; prints as a table of values with their errors."""

    def __getitem__(self, name: str) -> FitValue:
        """The value of a parameter by its name; the first of those of several shots."""
        for value in self.value:
            if value.param.name == name:
                return value
        raise KeyError(name)

    @property
    def x(self) -> Floats:
        """The values                                                           (nvalue)."""
        return np.array([value.value for value in self.value])

    @property
    def error(self) -> Floats:
        """Their standard deviations; `errors` says where they come from        (nvalue)."""
        return np.array([value.error for value in self.value])

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why the values are not to be believed, as the program says it; `Fit.run` warns of it."""
        return self.warning

    @property
    def reasons(self) -> tuple[str, ...]:
        """How the run ended, where errors come from, and what is said of single values and shots."""
        return (
            self.why,
            self.errors_why,
            *(f"{self._name(value)}: {value.remark}" for value in self.value if value.remark),
            *(f"the data do not tell {line}" for line in self.free),
            *(f"{shot.name} is left out: {shot.left_out}" for shot in self.shot if shot.left_out),
        )

    def _name(self, value: FitValue) -> str:
        return value.param.name if value.shot < 0 else f"{value.param.name} of {self.shot[value.shot].name}"

    def __repr__(self) -> str:
        lines = [f"{self.why}; {self.passes} passes, loss {self.loss:.6g}"]
        for value in self.value:
            remark = f", {value.remark}" if value.remark else ""
            unit = value.param.unit
            lines.append(f"{self._name(value):24} {value.value:14.8g} +- {value.error:.2g} {unit}{remark}")
        if self.errors != FitErrors.CURVATURE or self.error_factor > 1 or self.draws > 0:
            lines.append(self.errors_why)
        if not math.isnan(self.rms):
            lines.append(f"residuals over their standard deviation: {self.rms:.3f} rms")
        return "\n".join([*lines, *(f"warning: {warning}" for warning in self.warning)])


class _Ask:
    """What the library reaches during a run."""

    def __init__(self, context: Context, shots: Sequence[Shot]) -> None:
        self.context_ask = context._ask
        self.shots = shots
        self.forecasts = False  # each scene gets its own structure factors
        self.progress: Callable[[FitState], object] | None = None
        self.exchange: Callable[[Floats], Any] | None = None
        self.loaded: dict[int, list[Any]] = {}
        self.errors: dict[int, BaseException] = {}
        self.failure: Any = None


def _to_c(shot: Shot, c: Any, keep: list[Any], forecasts: bool) -> None:
    if not isinstance(shot, Shot):
        raise TypeError(f"expected a Shot, not {shot!r}")
    if not isinstance(shot.scene, Scene):
        raise TypeError(f"scene: expected a Scene, not {shot.scene!r}")
    scene = shot.scene._with_factors() if forecasts else shot.scene
    c.scene = scene._to_c(keep)
    found = as_target(shot.target)
    warn_of_a_ceiling(found)
    target = TargetOfC(found, needs_observed=False)
    keep.append(target)
    c.target = target.c[0]
    if shot.options is not None:
        options = ffi.new("nb_options *")
        fill(shot.options, options, keep, "options")
        keep.append(options)
        c.options = options
    if shot.name is not None:
        name = ffi.new("char[]", words(shot.name, "name"))
        keep.append(name)
        c.name = name


def _keep_exception(kind: type[BaseException], value: BaseException, trace: types.TracebackType) -> None:
    frame = trace.tb_frame if trace else None
    user = frame.f_locals.get("user") if frame else None
    if user:
        ffi.from_handle(user).context_ask.exception = value


@ffi.def_extern(error=1, onerror=_keep_exception)  # type: ignore[untyped-decorator]
def nbpy_fit_progress(user: Any, state: Any) -> int:
    ask = ffi.from_handle(user)
    if ask.context_ask.exception is not None:
        return 1
    if ask.progress is not None:
        ask.progress(record(FitState, state))
    return 0


@ffi.def_extern(error=lib.NB_ERR_CANCELLED, onerror=_keep_exception)  # type: ignore[untyped-decorator]
def nbpy_fit_load(user: Any, number: int, out: Any) -> int:
    ask = ffi.from_handle(user)
    keep: list[Any] = []
    try:
        shot = ask.shots[number]
        keep.append(shot)
        _to_c(shot, out, keep, ask.forecasts)
    except Exception as error:
        ask.errors[number] = error
        # read before the next call
        line = f"{type(error).__name__}: {error}".splitlines()[0]
        out.failure = ask.failure = ffi.new("char[]", line.replace("\0", "").encode())
        return int(lib.NB_ERR_FILE)
    ask.loaded[int(ffi.cast("intptr_t", out.scene))] = keep
    return int(lib.NB_OK)


@ffi.def_extern(error=1, onerror=_keep_exception)  # type: ignore[untyped-decorator]
def nbpy_fit_exchange(user: Any, numbers: Any, n: int) -> int:
    mine = np.frombuffer(ffi.buffer(numbers, 8 * n), np.float64)
    total = ffi.from_handle(user).exchange(mine)
    if total is not None:
        mine[:] = total
    return 0


@ffi.def_extern()  # type: ignore[untyped-decorator]
def nbpy_fit_unload(user: Any, number: int, loaded: Any) -> None:
    ffi.from_handle(user).loaded.pop(int(ffi.cast("intptr_t", loaded.scene)), None)


_SHOTS = {"fitted": int(lib.NB_FIT_FITTED), "held_out": int(lib.NB_FIT_HELD_OUT)}


def _shot(c: Any) -> FitShot:
    return record(FitShot, c, outlier=tuple(record(FitOutlier, c.outlier[i]) for i in range(c.noutlier)))


def _free(pointer: Any, *_: Any) -> None:
    lib.nb_fit_free(pointer)


class Fit:
    """A fit of the parameters of scenes to observed images.

    Args:
        shots: a `Shot`, a list or tuple of them, or another sequence, whose items are made when
            they are needed and forgotten afterwards; any thread may ask for one.
        shared: names of free parameters that have one value for all shots.
        own: names of those that have one value for each shot.
        method: "auto", "lm" or "lbfgs".
        coarse: "auto", "off" or "on": passes with broadened spots first.
        passes: a run ends after so many; 0: 50, or 500 for "lbfgs".
        seconds: a run begins no pass after so many; 0: no limit.
        enough: predicted gain of loss that ends the fit; 0: 1e-3, times the misfit above 1.
        scaling: "auto" multiplies errors by the root of the misfit where that is not noise, and
            adds the error that the random sample of mosaic domains makes; "misfit" does not add
            it, "counting" leaves errors as counting noise alone makes them, "boxes" gives those of
            the jackknife by boxes of the detector, each of which may err as a whole.
        outliers: whether boxes and pixels that stand out leave the fit by themselves; the result
            lists them (`FitShot.outlier`).
        holdout: every so manyth shot is not fitted, and compared by `misfit("held_out")`; 0: none.
        restraints: priors and bounds, each a `Restraint`.
        threads: 0: the environment decides, else every core.
        progress: a function that is called with a `FitState` after each pass; True for a bar of
            tqdm where it is installed.

    Raises:
        ArgumentError: an unknown name, shots whose parameters differ, or a wrong restraint.
        UnsupportedError: a build without LAPACK, or without NLopt for "lbfgs".

    A run that is stopped by Ctrl-C keeps the best values so far, and another one goes on from
    them.

    >>> import nanobrag
    >>> options = ("-cell 50 60 70 90 90 90 -default_F 100 -N 5 -gauss_xtal -fluence 1e28 "
    ...            "-detpixels 64 -pixel 0.8 -misset 10 20 ")
    >>> truth = nanobrag.Simulator.from_cli(options + "30")
    >>> start = nanobrag.Scene.from_cli(options + "30.02")
    >>> fit = nanobrag.Fit(nanobrag.Shot(scene=start, target=truth()), shared="misset")
    >>> bool(abs(fit.run()["misset_z"].value - 30) < 1e-4)
    True
    """

    def __init__(
        self,
        shots: Shot | Sequence[Shot],
        shared: str | Sequence[str] = "",
        own: str | Sequence[str] = "",
        *,
        method: FitMethod | str = FitMethod.AUTO,
        coarse: Coarse | str = Coarse.AUTO,
        passes: int = 0,
        seconds: float = 0.0,
        enough: float = 0.0,
        scaling: FitScaling | str = FitScaling.AUTO,
        holdout: int = 0,
        outliers: bool = False,
        restraints: Sequence[Restraint] = (),
        threads: int = 0,
        progress: bool | Callable[[FitState], object] | None = None,
        _make: Callable[..., int] = lib.nb_fit_create,
    ) -> None:
        self.shots: Sequence[Shot] = [shots] if isinstance(shots, Shot) else shots
        if not (hasattr(shots, "__len__") and hasattr(shots, "__getitem__")) and not isinstance(shots, Shot):
            raise TypeError(f"shots: expected a Shot or a sequence of them, not {type(shots).__name__}")
        self.progress = progress
        self._names = free_names(shared), free_names(own)
        self._nvalue: int | None = None
        self._context = Context(threads=threads)
        self._ask = _Ask(self._context, self.shots)
        self._ask.forecasts = _make is lib.nb_fit_create_expected
        self._handle = ffi.new_handle(self._ask)
        keep: list[Any] = []
        c = ffi.new("nb_shot[]", max(len(self.shots), 1))
        options = ffi.new("nb_fit_options *")
        for name, names in zip(("shared", "own"), self._names, strict=True):
            given = ffi.new("char[]", words(names, name))
            keep.append(given)
            setattr(options, name, given if names.strip() else ffi.NULL)
        options.method = choice(FitMethod, method, "method")
        options.coarse = choice(Coarse, coarse, "coarse")
        options.scaling = choice(FitScaling, scaling, "scaling")
        options.holdout = integer(holdout, "holdout")
        options.outliers = bool(outliers)
        options.passes = integer(passes, "passes")
        options.seconds, options.enough = number(seconds, "seconds"), number(enough, "enough")
        if not isinstance(restraints, (list, tuple)) or any(not isinstance(r, Restraint) for r in restraints):
            raise TypeError("restraints: expected a list of Restraint")
        priors = ffi.new("nb_restraint[]", max(len(restraints), 1))
        for i, restraint in enumerate(restraints):
            fill(restraint, priors[i], keep, f"restraints[{i}]")
        options.restraint, options.nrestraint = priors, len(restraints)
        options.progress, options.user = lib.nbpy_fit_progress, self._handle
        if isinstance(self.shots, (list, tuple)):
            for i, shot in enumerate(self.shots):
                _to_c(shot, c[i], keep, self._ask.forecasts)
        else:
            options.load, options.unload = lib.nbpy_fit_load, lib.nbpy_fit_unload
        out = ffi.new("nb_fit **")
        with self._context.making(lib.nb_fit_free, out):
            self._call(_make, self._context.pointer, len(self.shots), c, options, out)
        self._c = out[0]
        self._finalizer = weakref.finalize(self, _free, self._c, self._context, self._handle, self._ask, keep)

    def _call(self, function: Callable[..., int], *args: Any) -> None:
        before = dict(self._ask.errors)
        status = self._context.status(function, *args)
        if status:
            error: BaseException = self._context.error(status)
            # what went wrong with a shot in this call, not in an earlier one
            new = (cause for shot, cause in self._ask.errors.items() if before.get(shot) is not cause)
            raise error from next(new, None)

    def _pointer(self) -> Any:
        if not self._finalizer.alive:
            raise ValueError("this fit was closed")
        self._context.idle()
        return self._c

    def close(self) -> None:
        """Free the memory now; every later call is a ValueError."""
        with self._context.lock:
            self._context.idle()
            self._finalizer()

    def stop(self) -> None:
        """Make the run in progress, or else the next one, raise CancelledError; from any thread."""
        if not self._finalizer.alive:
            raise ValueError("this fit was closed")
        lib.nb_fit_cancel(self._c)

    def run(self) -> FitResult:
        """Minimise, from the start or from where the last run ended.

        A result that is not to be believed, `FitResult.warnings`, is a `NanobragWarning`.

        Raises:
            CancelledError: after `stop`; KeyboardInterrupt after Ctrl-C.
        """
        return self._run(lib.nb_fit_run)

    def run_among(self, rank: int, ranks: int, exchange: Callable[[Floats], Any]) -> FitResult:
        """`run` by several processes, each with a fit of the same shots and options: each evaluates
        some of the shots, and all have the result of `run`, to the last bit.

        Args:
            rank: the number of this process, from 0 on.
            ranks: how many processes there are; all of them make this call.
            exchange: is given numbers of this process and returns the sums of those of all, which
                all call as often, with as many; or None where the sums are in their place, as
                after `comm.Allreduce(MPI.IN_PLACE, numbers)` of mpi4py.

        Raises:
            NanobragError: what went wrong in any of the processes.
        """
        if not callable(exchange):
            raise TypeError(f"exchange: expected a function, not {exchange!r}")
        rank, ranks = integer(rank, "rank"), integer(ranks, "ranks")
        self._ask.exchange = exchange
        try:
            return self._run(lib.nb_fit_run_among, rank, ranks, lib.nbpy_fit_exchange, self._handle)
        finally:
            self._ask.exchange = None

    def _run(self, function: Callable[..., int], *args: Any) -> FitResult:
        with self._context.lock:
            close: Callable[[], None] = lambda: None  # noqa: E731
            if self.progress is True:
                self._ask.progress, close = _bar()
            elif callable(self.progress):
                self._ask.progress = self.progress
            try:
                self._call(function, self._pointer(), *args)
            finally:
                self._ask.progress = None
                close()
        result = self.result
        for warning in result.warning:
            warnings.warn(warning, NanobragWarning, stacklevel=2)
        return result

    @property
    def result(self) -> FitResult:
        """Values, errors, covariance and how the fit ended.

        Raises:
            ArgumentError: no pass was completed.
        """
        out = ffi.new("nb_fit_result *")
        with self._context.lock:
            self._call(lib.nb_fit_result_get, self._pointer(), out)
            n = out.nvalue
            covariance = None if out.covariance == ffi.NULL else vector(out.covariance, n * n).reshape(n, n)
            return record(
                FitResult,
                out,
                history=vector(out.history, out.joint),
                value=tuple(record(FitValue, out.value[i]) for i in range(n)),
                covariance=covariance,
                correlated=tuple(record(FitCorrelation, out.correlated[i]) for i in range(out.ncorrelated)),
                free=tuple(string(out.free[i]) for i in range(out.nfree)),
                warning=tuple(string(out.warning[i]) for i in range(out.nwarning)),
                shot=tuple(_shot(out.shot[i]) for i in range(out.nshot)),
            )

    def evaluate(self, x: Any = None, gradient: bool = True, normal: bool = False) -> Loss:
        """The loss at x (nvalue) of all shots and restraints, for a minimiser of your own.

        Args:
            x: parameters; None: the values found so far.
            gradient: whether dL/dx is wanted.
            normal: whether the diagonal of J^T W J is wanted, and its matrix for at most 200
                parameters.

        Returns:
            A `Loss`, whose value is inf where there is no finite one.
        """
        n = self.nvalue
        results: dict[str, Any] = {}
        if gradient:
            results["gradient"] = np.zeros(n)
        if normal:
            results["diagonal"] = np.zeros(n)
            if n <= 200:
                results["matrix"] = np.zeros((n, n))
        c, value = ffi.new("nb_normal *"), ffi.new("double *")
        for name, array in results.items():
            setattr(c, name, _arrays.pointer(array))
        row = None if x is None else _arrays.vector(x, n, "x")
        at = ffi.NULL if row is None else _arrays.pointer(row)
        with self._context.lock:
            pointer = self._pointer()
            status = self._context.status(lib.nb_fit_evaluate, pointer, at, value, c if results else ffi.NULL)
            if status not in (lib.NB_OK, lib.NB_ERR_DOMAIN):
                raise self._context.error(status)
            message = self._context.message() if status else ""
        if status:
            for array in results.values():
                array[...] = np.nan
        return Loss(float(value[0]), message=message, **results)

    @property
    def nvalue(self) -> int:
        """The number of parameters of the fit."""
        if self._nvalue is None:
            scene, nshot = self.shots[0].scene, len(self.shots)
            counts = [Simulator(scene, names, threads=1).nparam for names in self._names]
            self._nvalue = counts[0] + nshot * counts[1]
        return self._nvalue

    def shape(self, shot: int = 0) -> tuple[int, int]:
        """(nslow, nfast) of a shot."""
        observed = as_target(self.shots[shot].target).observed
        if observed is not None:
            # three axes where equal panels are stacked
            *slow, fast = observed.shape if hasattr(observed, "shape") else np.shape(observed)
            return math.prod(map(int, slow)), int(fast)
        return Simulator(self.shots[shot].scene, threads=1).shape

    def image(
        self,
        shot: int = 0,
        what: FitImage | str = FitImage.MODEL,
        out: Any = None,
        *,
        dtype: Any = np.float64,
    ) -> Any:
        """An image of one shot at the values found so far.

        Args:
            shot: its number.
            what: "model" (photons), "residual" (observed - model) or "z" (the residual over its
                standard deviation).
            out: float32 or float64 (nslow, nfast) to be written; None: a new array.
            dtype: of a new array.
        """
        if not 0 <= integer(shot, "shot", 64) < len(self.shots):
            raise ValueError(f"there is no shot {shot}; the fit has {len(self.shots)}, counted from 0")
        image = np.empty(self.shape(shot), dtype) if out is None else out
        c = ffi.new("nb_array *")
        keep = _arrays.describe(image, c, "image", write=True)
        with self._context.lock:
            self._call(lib.nb_fit_image, self._pointer(), shot, choice(FitImage, what, "what"), c)
        del keep
        return image

    def misfit(self, shot: int | str = 0) -> FitMisfit:
        """How far observation and model differ, by resolution and by box.

        Args:
            shot: its number; "fitted": all that are fitted; "held_out": all that are held out.

        Of a right model ``all.deviance`` is near ``all.expected``, and ``all.bright_deviance`` near
        ``all.bright_expected``, which are sums over pixels of more than 3 photons. ``r`` is R of
        boxes. ``all.rms``, that of z, counts dark pixels mostly.
        """
        if isinstance(shot, str) and shot not in _SHOTS:
            raise ValueError(f'shot: expected a number, "fitted" or "held_out", not "{shot}"')
        which = _SHOTS[shot] if isinstance(shot, str) else integer(shot, "shot", 64)
        if which < 0 and not isinstance(shot, str):
            raise ValueError(f"there is no shot {which}")
        out = ffi.new("nb_fit_misfit *")
        with self._context.lock:
            self._call(lib.nb_fit_misfit_get, self._pointer(), which, out)
            return record(
                FitMisfit,
                out,
                box=tuple(record(Misfit, out.box[i]) for i in range(out.nbox)),
                shot=tuple(record(Misfit, out.shot[i]) for i in range(out.nshot)),
            )

    def update_expt(self, path: Path, to: Path, experiments: Sequence[int] = ()) -> None:
        """Write an .expt again, with the values found so far in the experiments of the shots.

        Args:
            path: the file that the scenes of the shots were read from.
            to: the file that is written.
            experiments: number of the experiment of each shot; by default shot i has number i.
                Of several shots with one number the first counts. Shots that are left out change
                nothing.

        Raises:
            as `nanobrag.update_expt`.
        """
        from ._exchange import update_expt
        from ._simulator import Simulator

        result = self.result
        changes: dict[int, tuple[Simulator, Floats]] = {}
        for i, number_of in enumerate(experiments or range(len(self.shots))):
            if number_of in changes or result.shot[i].left_out:
                continue
            mine = [v for v in result.value if v.shot in (-1, i) and v.param.group != "F"]
            names = [v.param.name for v in mine]
            changes[number_of] = (Simulator(self.shots[i].scene, names), np.array([v.value for v in mine]))
        update_expt(path, to, changes)

    def write(self, path: Path) -> None:
        """Write where the fit stands, as JSON; `read` goes on from it."""
        with self._context.lock:
            self._call(lib.nb_fit_write, self._pointer(), path_of(path))

    def read(self, path: Path) -> None:
        """Continue from a file of `write`, with the bits of a run that was not stopped.

        Raises:
            FormatError: it is not such a file; SceneError: it is of another fit.
        """
        with self._context.lock:
            self._call(lib.nb_fit_read, self._pointer(), path_of(path))

    def __reduce__(self) -> Any:
        raise TypeError("a Fit does not pickle; write() and read() carry it to another process")

    def __repr__(self) -> str:
        return f"<Fit of {len(self.shots)} shots>"


def _bar() -> tuple[Callable[[FitState], object] | None, Callable[[], None]]:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None, lambda: None
    bar = tqdm(desc="fit", unit=" passes", leave=False)

    def show(state: FitState) -> None:
        bar.set_postfix(loss=state.loss, refresh=False)
        bar.update(state.passes - bar.n)

    return show, bar.close


def fisher(
    shots: Shot | Sequence[Shot],
    shared: str | Sequence[str] = "",
    own: str | Sequence[str] = "",
    **options: Any,
) -> FitResult:
    """The result that a fit of perfect data would have: errors before the experiment.

    Observed images are not read and may be missing. The arguments are those of `Fit`. Each scene
    is resolved by itself: of a command line with ``-pdb``, structure factors reach to the corner of
    the scene that `replace` has made.

    >>> import nanobrag
    >>> scene = nanobrag.Scene.from_cli("-cell 50 60 70 90 90 90 -default_F 100 -N 5 -gauss_xtal "
    ...                                 "-fluence 1e28 -detpixels 64 -pixel 0.8 -water 0.1")
    >>> shot = nanobrag.Shot(scene=scene, target=nanobrag.Target(kind="poisson"))
    >>> bool(0 < nanobrag.fisher(shot, "misset")["misset_x"].error < 0.1)
    True
    """
    return Fit(shots, shared, own, _make=lib.nb_fit_create_expected, **options).result


def start_values(shots: Shot | Sequence[Shot]) -> tuple[StartValues, list[list[SpotSize]]]:
    """Start values of a fit by the sizes of the spots in the boxes of its shots.

    Returns the start values of all shots together, and the spots of each shot, one for each box of
    its detector. ``include/nanobrag/image.h`` has the formulas. They are starts, and no results.

    >>> import nanobrag, numpy as np
    >>> options = ("-cell 50 60 70 90 90 90 -default_F 100 -N 12 -gauss_xtal -mosaic 0.4 -fluence 1e27 "
    ...            "-detpixels 256 -pixel 0.2 -misset 10 20 30 -boxes auto:40:16")
    >>> scene = nanobrag.Scene.from_cli(options)
    >>> image = nanobrag.Simulator(scene)()
    >>> start, spots = nanobrag.start_values(nanobrag.Shot(scene=scene, target=image))
    >>> len(spots[0]), bool(0.2 < start.mosaic < 0.6), bool(400 < start.block < 1200)
    (40, True, True)
    """
    shots = [shots] if isinstance(shots, Shot) else shots
    context = Context(threads=1)
    lists: list[list[SpotSize]] = []
    keep: list[Any] = []
    with context.lock:
        found = []
        for shot in shots:
            c = ffi.new("nb_shot *")
            _to_c(shot, c, keep, False)
            spots = ffi.new("nb_spot_size[]", max(int(c.scene.detector.nbox), 1))
            context.run(lib.nb_spot_sizes_measure, context.pointer, c.scene, ffi.addressof(c, "target"), spots)
            found.append((spots, int(c.scene.detector.nbox)))
            lists.append([record(SpotSize, spots[i]) for i in range(int(c.scene.detector.nbox))])
        together = ffi.new("nb_spot_size[]", max(sum(n for _, n in found), 1))
        at = 0
        for spots, n in found:
            ffi.memmove(together + at, spots, n * ffi.sizeof("nb_spot_size"))
            at += n
        start = ffi.new("nb_start *")
        context.run(lib.nb_spot_sizes_start, context.pointer, at, together, start)
        return record(StartValues, start), lists
