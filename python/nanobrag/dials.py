# SPDX-License-Identifier: MIT
"""Images that `nanobrag.read_image()` does not know, read by dxtbx, which DIALS brings.

from nanobrag.dials import read_image

image = read_image("frame_0001.mccd")
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._errors import ArgumentError, FileError, FormatError, ShapeError
from ._measured import MeasuredImage

__all__ = ["read_image"]

_HC = 12398.4198  # eV A
_NONE: NDArray[np.float64] = np.empty(0)


def _images(path: str) -> Any:
    """The images of a file, as dxtbx has them."""
    try:
        from dxtbx.format.Registry import get_format_class_for_file
    except ImportError as error:
        raise ImportError("nanobrag.dials needs dxtbx: run it with the Python of DIALS (dials.python)") from error
    if not os.path.isfile(path):
        raise FileError(f"{path}: there is no such file")
    known = get_format_class_for_file(path)
    if known is None:
        raise FormatError(f"{path}: dxtbx has no reader for it; check that it is the right file")
    try:
        return known.get_imageset([path], as_imageset=True)
    except Exception as error:  # its readers raise what they meet
        raise FormatError(f"{path}: dxtbx cannot read it: {error}") from error


def _stacked(path: str, panels: Any) -> NDArray[Any]:
    arrays = [panel.as_numpy_array() for panel in panels]
    if len({array.shape[1] for array in arrays}) > 1:
        widths = ", ".join(sorted({str(array.shape[1]) for array in arrays}))
        raise ShapeError(f"{path}: its panels are {widths} pixels wide, expected one width for all")
    return np.concatenate(arrays)


def _place(panel: Any, beam: Any) -> tuple[float, float]:
    """Where the beam meets the panel [mm]."""
    try:
        x, y = panel.get_beam_centre(beam.get_s0())
    except RuntimeError:  # it does not
        return math.nan, math.nan
    return x, y


def _rotation(scan: Any, frame: int) -> tuple[float, float, float]:
    """Start and range of the rotation [degree], and the exposure [s]."""
    if scan is None:
        return math.nan, math.nan, math.nan
    start, step = scan.get_oscillation()
    times = scan.get_exposure_times()
    exposure = times[min(frame, len(times) - 1)] if len(times) else math.nan
    turns = step != 0
    if turns and scan.get_num_images() > 1:
        start += frame * step
    return (start if turns else math.nan), (step if turns else math.nan), exposure or math.nan


def _spectrum(images: Any, frame: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    try:
        found = images.get_spectrum(frame)
    except (AttributeError, TypeError):  # dxtbx has none for a file of one image
        return _NONE, _NONE
    if found is None:
        return _NONE, _NONE
    return _HC / np.array(found.get_energies_eV()), np.array(found.get_weights())


def read_image(path: str | os.PathLike[str], frame: int = 0) -> MeasuredImage:
    """Read a frame of an image of any kind that dxtbx knows.

    The members are those of `nanobrag.read_image()`. Pixels are as the file has them, before dxtbx
    takes off the pedestal and divides by the gain. Panels are stacked along slow. A saturated pixel
    keeps its 1 in the mask: a fit knows what it means.

    Args:
        path: the file
        frame: from 0

    Raises:
        ImportError: dxtbx is not installed in this Python.
        FileError: there is no such file.
        FormatError: dxtbx cannot read it.
        ArgumentError: it has no such frame.
        ShapeError: its panels are not equally wide.
    """
    name = os.fspath(path)
    images = _images(name)
    if not 0 <= frame < len(images):
        raise ArgumentError(f"{name}: frame {frame} was asked for, expected 0 to {len(images) - 1}")
    try:
        pixels = _stacked(name, images.get_raw_data(frame)).astype(np.float64)
        mask = _stacked(name, images.get_mask(frame)).astype(np.bool_)
    except (RuntimeError, OSError, ValueError, KeyError) as error:
        if isinstance(error, ShapeError):
            raise
        raise FormatError(f"{name}: dxtbx cannot read its pixels: {error}") from error
    panel, beam = images.get_detector(frame)[0], images.get_beam(frame)
    overload = min(one.get_trusted_range()[1] for one in images.get_detector(frame))
    mask |= pixels >= overload
    beam_x, beam_y = _place(panel, beam)
    start, step, exposure = _rotation(images.get_scan(frame), frame)
    spectrum, weights = _spectrum(images, frame)
    return MeasuredImage(
        pixels=pixels,
        mask=None if mask.all() else mask,
        npanel=len(images.get_detector(frame)),
        frames=len(images),
        pixel_fast=panel.get_pixel_size()[0],
        pixel_slow=panel.get_pixel_size()[1],
        wavelength=beam.get_wavelength(),
        distance=abs(panel.get_distance()),
        beam_x=beam_x,
        beam_y=beam_y,
        osc_start=start,
        osc_range=step,
        exposure=exposure,
        overload=overload,
        pedestal=panel.get_pedestal(),
        gain=panel.get_gain() or 1.0,
        has_gain=panel.get_gain() not in (0, 1),  # 1 is dxtbx's word for a gain that it does not know
        spectrum=spectrum,
        weights=weights,
    )
