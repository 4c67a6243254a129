# SPDX-License-Identifier: MIT
"""Measured images of every kind that the library reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._convert import integer
from ._files import Path, _called, path_of
from ._lib import ffi, lib


@dataclass(frozen=True)
class MeasuredImage:
    """A measured image, as its file states it. A number is NaN where the file does not state it.

    Attributes:
        pixels: counts (nslow, nfast), float64; several panels are stacked along slow
        mask: True where a pixel is trusted (nslow, nfast); None: all are
        npanel: panels that the file keeps apart
        frames: in the file
        pixel_fast, pixel_slow: size of a pixel [mm]
        wavelength: of the beam, the mean of a spectrum [A]
        distance: of the detector [mm]
        beam_x, beam_y: beam centre; its corner and axes are the file's [mm]
        osc_start, osc_range: rotation of the frame [degree]
        exposure: of the frame [s]
        overload: count from which on a pixel is saturated; else the largest number of the type of
            the pixels, or infinity for reals
        pedestal: counts without photons; else 0
        gain: counts per photon; else 1
        has_gain: the file states the gain
        spectrum: wavelengths of the spectrum of the frame [A]; empty: none is stated
        weights: their weights, of any sum
    """

    pixels: NDArray[np.float64]
    mask: NDArray[np.bool_] | None
    npanel: int
    frames: int
    pixel_fast: float
    pixel_slow: float
    wavelength: float
    distance: float
    beam_x: float
    beam_y: float
    osc_start: float
    osc_range: float
    exposure: float
    overload: float
    pedestal: float
    gain: float
    has_gain: bool
    spectrum: NDArray[np.float64]
    weights: NDArray[np.float64]


def _copied(pointer: Any, form: str, *shape: int) -> NDArray[Any]:
    out = np.empty(shape, dtype=form)
    if out.nbytes:
        ffi.memmove(ffi.from_buffer(out), pointer, out.nbytes)
    return out


def read_image(path: Path, frame: int = 0) -> MeasuredImage:
    """Read a frame of a measured image: SMV, CBF, NXmx or HDF5 of DECTRIS, or these in gzip or bzip2.

    Args:
        path: the file
        frame: from 0

    Raises:
        FileError: the file cannot be read.
        FormatError: it is damaged, or of another kind.
        ArgumentError: it has no such frame.
        UnsupportedError: this build cannot expand it.
    """
    out = ffi.new("nb_measured **")
    _called(lib.nb_image_read, path_of(path), integer(frame, "frame"), out)
    image = ffi.gc(out[0], lib.nb_measured_free)
    shape = (image.nslow, image.nfast)
    members: dict[str, Any] = {
        name: getattr(image, name)
        for name in MeasuredImage.__dataclass_fields__
        if name not in ("pixels", "mask", "spectrum", "weights")
    }
    members["has_gain"] = bool(image.has_gain)
    return MeasuredImage(
        pixels=_copied(image.pixels, "<f8", *shape),
        mask=_copied(image.mask, "?", *shape) if image.mask else None,
        spectrum=_copied(image.spectrum, "<f8", image.nspectrum),
        weights=_copied(image.weights, "<f8", image.nspectrum),
        **members,
    )


def image_kind(path: Path) -> str | None:
    """The format of a file by its first bytes: SMV, CBF, HDF5, gzip or bzip2; PNG and TIFF are not read.

    None: another format, or the file cannot be read.
    """
    found = lib.nb_image_kind(path_of(path))
    return ffi.string(found).decode() if found else None
