"""Colours that survive colour blindness and grey printing, where figures are opened, and checks that are shared."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.extras import require
from ..functions.grids import check_bounds
from ..kernels import Kernel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
else:  # matplotlib is imported when something is drawn
    Axes = Any

Kernels = Kernel | Iterable[Kernel] | Mapping[str, Kernel]

# Okabe and Ito's palette, darkest contrasts first
BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"
GRAY, INK = "#7A7A7A", "#222222"
CYCLE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, INK)
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (7, 2)), (0, (2, 1)))
COLORMAP = "viridis"


def axes_or_new(ax: Axes | None) -> Axes:
    """The given axes, or those of a new pyplot figure (which the caller shows or closes)."""
    if ax is not None:
        require("matplotlib", "plot")
        return ax
    return require("matplotlib.pyplot", "plot").subplots(layout="constrained")[1]


def plane_bounds(bounds) -> tuple[float, float, float, float]:
    """(xmin, xmax, ymin, ymax) of two corners (2, 2)."""
    low, high = check_bounds(bounds, 2)
    if not (low < high).all():
        raise ValueError(f"bounds must have a width and a height, got {bounds!r}.")
    return float(low[0]), float(high[0]), float(low[1]), float(high[1])


def curve_style(number: int) -> dict[str, Any]:
    """Colour and dashes of the curves of a picture, which differ in both."""
    return {"color": CYCLE[number % len(CYCLE)], "linestyle": DASHES[number % len(DASHES)]}


def by_label(kernels: Kernels) -> dict[str, Kernel]:
    """Kernels under their labels: one, several, or a mapping; without labels the ``repr`` of each serves."""
    if not isinstance(kernels, Mapping):
        kernels = {repr(kernel): kernel for kernel in ([kernels] if isinstance(kernels, Kernel) else kernels)}
    if not kernels:
        raise ValueError("kernels must have at least one kernel, got none.")
    return dict(kernels)


def line_points(X, name: str = "x") -> np.ndarray:
    """Points of the line as a vector, from shape (n,) or (n, 1)."""
    points = np.asarray(X, dtype=float)
    if points.ndim == 2 and points.shape[1] == 1:
        return points[:, 0]
    if points.ndim != 1:
        raise ValueError(f"{name} must be points of the line, of shape (n,) or (n, 1), got shape {points.shape}.")
    return points
