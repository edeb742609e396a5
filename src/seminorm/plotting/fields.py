"""Functions of the plane, decision functions among them, and the cells of the basis of a field."""

from typing import Any

import numpy as np

from .._base.extras import require
from ._style import BLUE, COLORMAP, INK, VERMILION, Axes, axes_or_new, plane_bounds


def plot_field(
    function,
    bounds: tuple,
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
    bounds : array (2, 2)
        Lower and upper corner of the picture.
    ax : Axes, optional; a new figure if left out
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
    colorbar, label : bool and str, draw the scale, with the label beside it

    Returns
    -------
    Axes with filled contours

    See Also
    --------
    plot_levels, plot_decision

    Examples
    --------
    >>> from seminorm.plotting import plot_field
    >>> ax = plot_field(lambda X: X[:, 0] * X[:, 1], bounds=([-1, -1], [1, 1]), resolution=20)
    """
    bounds = plane_bounds(bounds)
    x, y, field = _on_grid(function, bounds, resolution)
    ax = axes_or_new(ax)
    contours = ax.contourf(x, y, field, levels=levels, cmap=cmap, extend="both" if np.ndim(levels) else "neither")
    if points is not None:
        points = np.asarray(points, dtype=float)
        style: dict[str, Any] = {"color": INK, "s": 9, "linewidths": 0, "edgecolors": "white"}
        if values is not None:
            style = {"c": values, "cmap": cmap, "norm": contours.norm, "s": 24, "linewidths": 0.5, "edgecolors": INK}
        ax.scatter(points[:, 0], points[:, 1], **style)
    ax.set(xlim=bounds[:2], ylim=bounds[2:], aspect="equal")
    ax.grid(False)
    if colorbar:
        ax.figure.colorbar(contours, ax=ax, label=label or "")
    return ax


def plot_levels(
    field, bounds: tuple | None = None, ax: Axes | None = None, cmap: str = COLORMAP, colorbar: bool = True
) -> Axes:
    """The cells of a field of the plane, coloured by level: a cell of level l is 2**-l of the data's longest side wide.
    Cells are small where the data asked for detail, and were dense enough to give it.

    Parameters
    ----------
    field : Field or fitted FieldSmoother, in two dimensions
    bounds : array (2, 2), optional
        Lower and upper corner of the picture; left out, the extent of an estimator's data, or a field's whole box.
    ax : Axes, optional; a new figure if left out
    cmap, colorbar : str and bool, name of a matplotlib colour map, and whether to draw the scale of the levels

    Returns
    -------
    Axes with one square per cell

    See Also
    --------
    plot_field

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import FieldSmoother
    >>> from seminorm.plotting import plot_levels
    >>> X = np.random.default_rng(0).random((2000, 2))
    >>> ax = plot_levels(FieldSmoother(alpha=1e-4).fit(X, np.exp(-50 * ((X - 0.3) ** 2).sum(axis=1))))
    """
    given, field = getattr(field, "data_bounds_", None), getattr(field, "function_", field)
    if field.dimension != 2:
        raise ValueError(f"plot_levels draws fields of the plane, and this one has {field.dimension} coordinates.")
    low, high = field.bounds if given is None else given
    xmin, xmax, ymin, ymax = (low[0], high[0], low[1], high[1]) if bounds is None else plane_bounds(bounds)
    corners, sides, levels = _leaf_cells(field.tree)
    seen = ((corners < (xmax, ymax)) & (corners + sides > (xmin, ymin))).all(axis=1)
    unit = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    squares = corners[seen, None] + sides[seen, None] * unit
    ax = axes_or_new(ax)
    colors = require("matplotlib", "plot").colormaps[cmap].resampled(field.depth + 1)
    widths = 0.6 * 2.0 ** (levels[seen].min(initial=field.depth) - levels[seen])  # small cells keep their colour
    style = {"cmap": colors, "clim": (-0.5, field.depth + 0.5), "edgecolors": "white", "linewidths": widths}
    cells = require("matplotlib.collections", "plot").PolyCollection(squares, array=levels[seen], **style)
    ax.add_collection(cells)
    ax.set(xlim=(xmin, xmax), ylim=(ymin, ymax), aspect="equal")
    ax.grid(False)
    if colorbar:
        ax.figure.colorbar(cells, ax=ax, label="level", ticks=np.arange(field.depth + 1))
    return ax


def plot_decision(classifier, bounds: tuple, ax: Axes | None = None, X=None, y=None, resolution: int = 200) -> Axes:
    """The decision function f of a two-class machine: f = 0 as a thick line, the margins f = 1 and f = -1 dashed.

    Parameters
    ----------
    classifier : fitted estimator, with ``decision_function`` of two classes on the plane
    bounds : array (2, 2)
        Lower and upper corner of the picture.
    ax : Axes, optional; a new figure if left out
    X, y : arrays (n, 2) and (n,), optional, data, drawn as dots and crosses
    resolution : int
        Grid points along each side.

    Returns
    -------
    Axes with three levels of f

    See Also
    --------
    plot_field

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import SVC
    >>> from seminorm.plotting import plot_decision
    >>> X = np.random.default_rng(0).standard_normal((60, 2))
    >>> ax = plot_decision(SVC().fit(X, (X**2).sum(axis=1) > 1.4), ([-3, -3], [3, 3]), resolution=20)
    """
    xmin, xmax, ymin, ymax = plane_bounds(bounds)
    x, z = np.linspace(xmin, xmax, resolution), np.linspace(ymin, ymax, resolution)
    grid = np.stack(np.meshgrid(x, z), axis=-1)
    values = np.asarray(classifier.decision_function(grid.reshape(-1, 2)))
    if values.ndim != 1:
        raise ValueError(f"classifier must have two classes for its boundary to be drawn, got {values.shape[1]}.")
    values = values.reshape(grid.shape[:2])
    ax = axes_or_new(ax)
    ax.contourf(x, z, values, levels=[-np.inf, 0.0, np.inf], colors=[BLUE, VERMILION], alpha=0.12)
    ax.contour(x, z, values, levels=[-1.0, 1.0], colors=INK, linestyles="dashed", linewidths=0.8)
    ax.contour(x, z, values, levels=[0.0], colors=INK, linewidths=2.0)
    if X is not None:
        X, positive = np.asarray(X, dtype=float), np.asarray(y) == classifier.classes_[1]
        ax.plot(*X[~positive].T, "o", color=BLUE, markersize=3)
        ax.plot(*X[positive].T, "x", color=VERMILION, markersize=4)
    ax.set(xlim=(xmin, xmax), ylim=(ymin, ymax))
    return ax


def _leaf_cells(tree) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lower corners (n, d), sides (n, d) and levels (n,) of the cells that no finer level covers."""
    block, node = np.nonzero(tree.leaf)
    levels = tree.level_of[block]
    sides = tree.box.spacing / 2.0 ** levels[:, None] * tree.box.upright_scale
    return tree.box.low + (tree.coords[block] * tree.layout.side + tree.layout.node_coords[node]) * sides, sides, levels


def _on_grid(function, bounds, resolution: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates along the axes and the values of the function on their grid, cells as square as they can be."""
    xmin, xmax, ymin, ymax = bounds
    if resolution < 2:
        raise ValueError(f"resolution must be at least 2, got {resolution!r}.")
    step = max(xmax - xmin, ymax - ymin) / (resolution - 1)
    x = np.linspace(xmin, xmax, max(2, round((xmax - xmin) / step) + 1))
    y = np.linspace(ymin, ymax, max(2, round((ymax - ymin) / step) + 1))
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    values = np.asarray(function(grid) if callable(function) else function.predict(grid), dtype=float)
    if values.size != len(grid):
        raise ValueError(
            f"function must return one value per point, shape ({len(grid)},), got shape {values.shape}: for several "
            "outputs plot one at a time."
        )
    return x, y, values.reshape(len(y), len(x))
