# SPDX-License-Identifier: MIT
"""Pictures of images by matplotlib, which is asked for only here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._simulator import Simulator
from ._structs import Description, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]


def resolution(geometry: Simulator | Description) -> Floats:
    """The resolution d = wavelength/(2 sin theta) at the middle of each pixel, A.

    Args:
        geometry: a simulator, or what its `describe` returns.

    Returns:
        d, inf in the direct beam, nan where there is no panel                 (nslow, nfast)

    Raises:
        ValueError: the description of a detector of several panels, which tells of one of them.

    >>> from nanobrag import Simulator, resolution
    >>> sim = Simulator.from_cli("-cell 50 60 70 90 90 90 -default_F 1 -detpixels 32 -pixel 1")
    >>> print(f"{resolution(sim).min():.1f} A")
    4.4 A
    """
    if not isinstance(geometry, Simulator):
        if geometry.npanel > 1:
            raise ValueError(f"the description covers one of {geometry.npanel} panels; pass the simulator")
        return _resolution_of(geometry, (geometry.nslow, geometry.nfast), geometry.beam, 1.0)
    description = geometry.describe()
    d = np.full(geometry.shape, np.nan)
    wavelength = geometry.source(0).wavelength
    for i in range(max(1, description.npanel)):
        p = geometry.panel(i)
        d[p.slow0 : p.slow0 + p.nslow, p.fast0 : p.fast0 + p.nfast] = _resolution_of(
            p, (p.nslow, p.nfast), description.beam, wavelength
        )
    return d


def _resolution_of(rectangle: Panel | Description, shape: tuple[int, int], beam: Floats, wavelength: float) -> Floats:
    slow = (np.arange(shape[0]) + 0.5)[:, None, None] * rectangle.pixel * np.asarray(rectangle.slow)
    fast = (np.arange(shape[1]) + 0.5)[None, :, None] * rectangle.pixel * np.asarray(rectangle.fast)
    place = np.asarray(rectangle.origin) + slow + fast
    cosine = (place @ beam) / np.linalg.norm(place, axis=-1)
    sine = np.sqrt(np.maximum(0.5 * (1 - cosine), 0))
    with np.errstate(divide="ignore"):
        return np.asarray(wavelength / (2 * sine), np.float64)


def _levels(finest: float) -> list[float]:
    """Four rings at round numbers, out to the finest resolution."""
    levels = []
    for part in (1.0, 0.75, 0.5, 0.25):
        d = finest / part
        digit = 10 ** np.floor(np.log10(d) - 1)
        levels.append(float(np.ceil(d / digit) * digit))
    return sorted(set(levels))


def show(
    image: Any,
    geometry: Simulator | Description | None = None,
    *,
    ax: Axes | None = None,
    vmax: float | None = None,
    rings: bool = True,
    title: str | None = None,
) -> Axes:
    """Draw an image: dark photons on white, rings of resolution, a cross at the direct beam.

    Args:
        image: photons or counts (nslow, nfast), or (npanel, nslow/npanel, nfast).
        geometry: the simulator of the image, or its description, for rings and for the
            resolution under the pointer; None: without them.
        ax: where; None: new axes.
        vmax: what is black; None: the 99.5th percentile of what is above 0.
        rings: whether rings are drawn.
        title: a line above.

    Returns:
        The axes. Under the pointer they show pixel, photons and resolution.

    Raises:
        ImportError: matplotlib is not installed.
    """
    import matplotlib.pyplot as plt

    pixels = np.asarray(image)
    if pixels.ndim == 3:
        pixels = pixels.reshape(-1, pixels.shape[2])
    if pixels.ndim != 2:
        raise ValueError(f"image has the shape {pixels.shape}; expected (nslow, nfast)")
    if ax is None:
        _, ax = plt.subplots(figsize=(6, 6), layout="constrained")
    lit = pixels[pixels > 0]
    black = vmax if vmax is not None else float(np.percentile(lit, 99.5)) if lit.size else 1.0
    ax.imshow(pixels, cmap="gray_r", vmin=0, vmax=black, interpolation="nearest")
    ax.set_xlabel("fast, pixel")
    ax.set_ylabel("slow, pixel")
    if title:
        ax.set_title(title)
    d: Floats | None = None
    if geometry is not None:
        d = resolution(geometry)
        if d.shape != pixels.shape:
            raise ValueError(f"image has the shape {pixels.shape} but the geometry has {d.shape}")
        if rings:
            lines = ax.contour(d, levels=_levels(float(np.nanmin(d))), colors="tab:blue", linewidths=0.7)
            ax.clabel(lines, fmt="%g A", fontsize=8)
            described = geometry.describe() if isinstance(geometry, Simulator) else geometry
            fast, slow = described.beam_fast / described.pixel - 0.5, described.beam_slow / described.pixel - 0.5
            if isinstance(geometry, Simulator) and described.npanel > 1:
                hit = geometry.panel(described.panel)
                fast, slow = fast + hit.fast0, slow + hit.slow0
            ax.plot(fast, slow, "+", color="tab:red")
        ax.set_xlim(-0.5, pixels.shape[1] - 0.5)
        ax.set_ylim(pixels.shape[0] - 0.5, -0.5)

    def under_pointer(x: float, y: float) -> str:
        fast, slow = round(x), round(y)
        if not (0 <= slow < pixels.shape[0] and 0 <= fast < pixels.shape[1]):
            return ""
        text = f"fast {fast} slow {slow}: {pixels[slow, fast]:g}"
        return text if d is None else f"{text}, {d[slow, fast]:.2f} A"

    ax.format_coord = under_pointer  # type: ignore[method-assign]
    return ax
