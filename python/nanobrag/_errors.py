# SPDX-License-Identifier: MIT
"""The exceptions of the package: one for each status of the library that is a failure."""

from __future__ import annotations

from ._structs import Status


class NanobragError(Exception):
    """A call of the library failed; the text is nb_context_message().

    Attributes:
        status: the status that the library returned.
    """

    status: Status = Status.ERR_ARGUMENT


class ArgumentError(NanobragError, ValueError):
    """An argument is missing or out of range."""


class ShapeError(NanobragError, ValueError):
    """An array has the wrong size, type or device."""

    status = Status.ERR_SHAPE


class SceneError(NanobragError, ValueError):
    """The scene contradicts itself."""

    status = Status.ERR_SCENE


class UnitCellError(SceneError):
    """The cell is missing or flat."""

    status = Status.ERR_UNIT_CELL


class FileError(NanobragError, OSError):
    """A file could not be read or written."""

    status = Status.ERR_FILE


class FormatError(NanobragError, ValueError):
    """A file does not follow its format."""

    status = Status.ERR_FORMAT


class OutOfMemoryError(NanobragError, MemoryError):
    """The library found no memory."""

    status = Status.ERR_MEMORY


class DeviceError(NanobragError, RuntimeError):
    """The device refused a request."""

    status = Status.ERR_DEVICE


class CancelledError(NanobragError, RuntimeError):
    """A call was stopped on request."""

    status = Status.ERR_CANCELLED


class UnsupportedError(NanobragError, NotImplementedError):
    """This build or device cannot do that."""

    status = Status.ERR_UNSUPPORTED


class DonatedError(NanobragError, ValueError):
    """An array was given away and may not be read again."""

    status = Status.ERR_DONATED


class DomainError(NanobragError, ArithmeticError):
    """The loss has no finite value at these parameters."""

    status = Status.ERR_DOMAIN


class CommandError(NanobragError, ValueError):
    """A command line is wrong, or names a file that is."""


class NanobragWarning(UserWarning):
    """A warning of the library, such as of a parameter without influence."""


_BY_STATUS: dict[int, type[NanobragError]] = {
    kind.status: kind
    for kind in (
        ArgumentError, ShapeError, SceneError, UnitCellError, FileError, FormatError, OutOfMemoryError,
        DeviceError, CancelledError, UnsupportedError, DonatedError, DomainError,
    )
}  # fmt: skip


def error_of(status: int, message: str) -> NanobragError:
    """The exception for a status that is not OK."""
    return _BY_STATUS.get(status, NanobragError)(message)
