"""Colours that survive colour blindness and grey printing, the one place that opens a figure, and checks that
pictures share.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from .._extras import require
from ..kernels import Kernel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette, darkest contrasts first
BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"
GREY, INK = "#7A7A7A", "#222222"
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
    """(xmin, xmax, ymin, ymax), from that or from two corners."""
    from ..fields.gridding import as_corners  # here, because fields load the compiler

    low, high = as_corners(bounds, 2)
    if not (low < high).all():
        raise ValueError(
            f"bounds must be (xmin, xmax, ymin, ymax) with xmin < xmax and ymin < ymax, or two corners, got {bounds!r}."
        )
    return float(low[0]), float(high[0]), float(low[1]), float(high[1])


def by_label(kernels) -> dict[str, Kernel]:
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
