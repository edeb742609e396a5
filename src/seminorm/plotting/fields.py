"""Functions of the plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._style import COLORMAP, INK, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_field(
    function,
    bounds: tuple[float, float, float, float],
    ax: Axes | None = None,
    points=None,
    values=None,
    resolution: int = 200,
    levels: int | np.ndarray = 14,
    cmap: str = COLORMAP,
    colorbar: bool = True,
    label: str | None = None,
) -> Axes:
    """A function f(x, y) of the plane as filled contours {levels[k] <= f < levels[k + 1]}, with the data as dots.

    Parameters
    ----------
    function : callable or fitted estimator
        Maps points (n, 2) to values (n,): an expansion, a field, a Python function, or anything with ``predict``.
    bounds : tuple
        (xmin, xmax, ymin, ymax) of the picture.
    ax : Axes, optional
        Left out, a new figure is made.
    points : array (n, 2), optional
        Drawn as dots.
    values : array (n,), optional
        Colours the dots on the scale of the contours: a dot that vanishes is fitted exactly.
    resolution : int
        Grid points along the longer side.
    levels : int or array
        About how many contours, or the contours themselves (to share them between pictures).
    cmap : str
        Name of a matplotlib colour map.
    colorbar : bool
        Draw the scale, with ``label`` beside it.
    label : str, optional

    Examples
    --------
    >>> from seminorm.plotting import plot_field
    >>> ax = plot_field(lambda X: X[:, 0] * X[:, 1], bounds=(-1, 1, -1, 1), resolution=20)
    """
    x, y, field = _on_grid(function, bounds, resolution)
    ax = axes_or_new(ax)
    contours = ax.contourf(x, y, field, levels=levels, cmap=cmap, extend="both" if np.ndim(levels) else "neither")
    if points is not None:
        points = np.asarray(points, dtype=float)
        colours = (
            {"color": INK, "s": 9, "linewidths": 0}
            if values is None
            else {"c": values, "cmap": cmap, "norm": contours.norm, "s": 24, "linewidths": 0.5}
        )
        ax.scatter(points[:, 0], points[:, 1], edgecolors="white" if values is None else INK, **colours)
    ax.set(xlim=bounds[:2], ylim=bounds[2:], aspect="equal")
    ax.grid(False)
    if colorbar:
        ax.figure.colorbar(contours, ax=ax, label=label or "")
    return ax


def _on_grid(function, bounds, resolution: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates along the axes and the values of the function on their grid, cells as square as they can be."""
    xmin, xmax, ymin, ymax = map(float, bounds)
    if not (xmin < xmax and ymin < ymax):
        raise ValueError(
            f"bounds must be (xmin, xmax, ymin, ymax) with xmin < xmax and ymin < ymax, got {tuple(bounds)}."
        )
    if resolution < 2:
        raise ValueError(f"resolution must be at least 2, got {resolution!r}.")
    step = max(xmax - xmin, ymax - ymin) / (resolution - 1)
    x = np.linspace(xmin, xmax, max(2, round((xmax - xmin) / step) + 1))
    y = np.linspace(ymin, ymax, max(2, round((ymax - ymin) / step) + 1))
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    values = np.asarray(function(grid) if callable(function) else function.predict(grid), dtype=float)
    if values.size != len(grid):
        raise ValueError(
            f"function must return one value a point, shape ({len(grid)},), got shape {values.shape}: for several "
            "outputs plot one at a time."
        )
    return x, y, values.reshape(len(y), len(x))
