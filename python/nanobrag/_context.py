# SPDX-License-Identifier: MIT
"""A context of the library with its lock, its answer to Ctrl-C, and what a fork needs."""

from __future__ import annotations

import concurrent.futures
import contextlib
import logging
import os
import sys
import threading
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from ._convert import integer
from ._errors import NanobragError, NanobragWarning, error_of
from ._lib import ffi, lib
from ._structs import Compile, Status

_logger = logging.getLogger("nanobrag")

Progress = Callable[[float], object]


class _Ask:
    """What the library reaches while it runs: it must not keep the context alive."""

    def __init__(self) -> None:
        self.progress: Progress | None = None
        self.exception: BaseException | None = None


def _keep_exception(kind: type[BaseException], value: BaseException, trace: types.TracebackType) -> None:
    frame = trace.tb_frame if trace else None
    handle = frame.f_locals.get("handle") if frame else None
    if handle:
        ffi.from_handle(handle).exception = value


@ffi.def_extern(error=1, onerror=_keep_exception)  # type: ignore[untyped-decorator]
def nbpy_ask(handle: Any, fraction: float) -> int:
    # A signal's handler runs as this function is entered, and raises KeyboardInterrupt here.
    for _ in range(2):
        pass
    ask = ffi.from_handle(handle)
    if ask.exception is not None:
        return 1
    if ask.progress is not None:
        ask.progress(fraction)
    return 0


def _keep_warning(kind: type[BaseException], value: BaseException, trace: types.TracebackType) -> None:
    # a filter made an error of a warning: raised as soon as the library returns
    frame = trace.tb_frame if trace else None
    user = frame.f_locals.get("user") if frame else None
    if user:
        ffi.from_handle(ffi.cast("nbpy_watch *", user).handle).exception = value


def _callers_level() -> int:
    """The stacklevel of warnings.warn() that names the line outside this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        level, frame = level + 1, frame.f_back
    return level


@ffi.def_extern(onerror=_keep_warning)  # type: ignore[untyped-decorator]
def nbpy_log(user: Any, level: int, topic: Any, line: Any) -> None:
    text = ffi.string(line).decode()
    if level == lib.NB_LOG_WARNING:
        warnings.warn(text, NanobragWarning, stacklevel=_callers_level())
    else:
        kind = logging.INFO if level == lib.NB_LOG_NOTE else logging.DEBUG
        _logger.log(kind, "%s: %s", ffi.string(topic).decode(), text)


# ---- forks: the threads of OpenMP do not survive one, and libgomp waits for them for ever in
# ---- the thread that had started them. That thread's calls go to a new one. ----


class _Fork:
    thread: int | None = None
    worker: concurrent.futures.ThreadPoolExecutor | None = None


_contexts: weakref.WeakSet[Context] = weakref.WeakSet()


def _after_fork() -> None:
    _Fork.thread = threading.get_ident()
    _Fork.worker = None
    for context in _contexts:
        context.lock = threading.RLock()
        context._is_busy = False


os.register_at_fork(after_in_child=_after_fork)


def _call_in_worker(context: Context, function: Callable[..., int], args: tuple[Any, ...]) -> int:
    if _Fork.worker is None:
        _Fork.worker = concurrent.futures.ThreadPoolExecutor(1)
    future = _Fork.worker.submit(function, *args)
    try:
        return future.result()
    except BaseException as exception:
        context.stop()
        concurrent.futures.wait([future])
        context._ask.exception = exception
        return int(Status.ERR_CANCELLED)


def device_of(name: str) -> tuple[int, int]:
    """The numbers of a device that is called "auto", "cpu", "cuda" or "cuda:1"."""
    if not isinstance(name, str):
        raise TypeError(f"device: expected auto, cpu, cuda or cuda:N, not {name!r}")
    numbers = ffi.new("int[2]")
    if lib.nb_device_named(name.encode(), numbers, numbers + 1) != lib.NB_OK:
        raise ValueError(f"device {name!r}: expected auto, cpu, cuda or cuda:N")
    return numbers[0], numbers[1]


def _free(pointer: Any, *_: Any) -> None:
    lib.nb_context_free(pointer)


class Context:
    """An nb_context, used by one thread at a time: ``with context.lock: context.run(...)``."""

    def __init__(self, threads: int = 0, device: str | None = None, compile: Compile | int = Compile.ON) -> None:
        self._ask = _Ask()
        self._handle = ffi.new_handle(self._ask)
        self._watch = ffi.new("nbpy_watch *", {"handle": self._handle})
        # of C, and taken by `with` itself: Ctrl-C may come before any line of Python, also of one
        # that would set free what it had taken
        self.lock = threading.RLock()
        self._is_busy = False
        options = ffi.new("nb_context_options *")
        options.threads = integer(threads, "threads")
        if device is not None:
            options.device, options.device_id = device_of(device)
        options.compile = compile
        options.log = lib.nbpy_log
        options.progress = lib.nbpy_progress
        options.user = self._watch
        out = ffi.new("nb_context **")
        status = lib.nb_context_create(lib.NB_API_VERSION, options, out)
        if status != lib.NB_OK:
            text = ffi.string(lib.nb_status_text(status)).decode()
            raise error_of(status, f"threads={threads}, device={device}, compile={compile}: {text}")
        self.pointer = out[0]
        # the library points to watch and handle until the context is freed
        weakref.finalize(self, _free, self.pointer, self._watch, self._handle)
        _contexts.add(self)

    def idle(self) -> None:
        """Refuse a call from a handler of the call in progress; with the lock held."""
        if self._is_busy:
            raise RuntimeError("a progress handler may not call the object that it watches")

    def stop(self) -> None:
        """Make the call in progress end with CancelledError; from any thread."""
        self._watch.stop = 1

    def message(self) -> str:
        """The text of the last failure."""
        return str(ffi.string(lib.nb_context_message(self.pointer)).decode())

    def status(self, function: Callable[..., int], *args: Any) -> int:
        """Call the library, with the lock held; raise only what a handler raised."""
        self.idle()
        self._is_busy = True
        try:
            if _Fork.thread is None or threading.get_ident() != _Fork.thread:
                status = function(*args)
            else:
                status = _call_in_worker(self, function, args)
        finally:
            self._is_busy = False
        if self._ask.exception is not None or self._watch.stop:
            exception, self._ask.exception = self._ask.exception, None
            self._watch.stop = 0
            if exception is not None:
                raise exception
        return status

    def run(self, function: Callable[..., int], *args: Any) -> None:
        """Call the library, with the lock held, and raise what it returns."""
        status = self.status(function, *args)
        if status:
            raise self.error(status)

    @contextlib.contextmanager
    def making(self, free: Callable[[Any], None], out: Any) -> Iterator[None]:
        """Take the lock for a call that makes an object of C; free that after an exception."""
        with self.lock:
            try:
                yield
            except BaseException:
                free(out[0])
                raise

    def error(self, status: int) -> NanobragError:
        """The exception of a failed call."""
        return error_of(status, self.message() or ffi.string(lib.nb_status_text(status)).decode())


def progress_bar(progress: bool | Progress | None, what: str) -> tuple[Progress | None, Callable[[], None]]:
    """What to call with a fraction, and what to call at the end; True asks for tqdm."""
    if not progress:
        return None, lambda: None
    if callable(progress):
        return progress, lambda: None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None, lambda: None
    bar = tqdm(total=100, desc=what, unit="%", leave=False)

    def show(fraction: float) -> None:
        bar.update(round(100 * fraction) - bar.n)

    return show, bar.close
