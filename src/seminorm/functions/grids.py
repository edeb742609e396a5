"""Regular grids of the values of functions."""

import importlib.util
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._base.memory import require_memory

_DEFAULT_POINTS = 100
_CHUNK_POINTS = 2**18


def check_bounds(bounds: ArrayLike, dimension: int, name: str = "bounds") -> np.ndarray:
    """The lower and the upper corner of a box, as an array (2, d); on the line two numbers will do."""
    try:
        corners = np.array(bounds, dtype=float)
    except (TypeError, ValueError):
        corners = np.empty(0)
    if dimension == 1 and corners.shape == (2,):
        corners = corners[:, None]
    if corners.shape != (2, dimension):
        raise ValueError(
            f"{name} must have shape (2, {dimension}), the lower corner and the upper one, got {bounds!r}."
        )
    if not (np.isfinite(corners).all() and (corners[0] <= corners[1]).all()):
        raise ValueError(f"{name} must be finite and in order, the least of each coordinate first, got {bounds!r}.")
    return corners


def regular_axes(
    bounds: ArrayLike, dimension: int, spacing: ArrayLike | None = None, scale: ArrayLike = 1.0
) -> list[np.ndarray]:
    """Coordinates along each axis of a regular grid.

    Parameters
    ----------
    bounds, dimension : array (2, d) and d, the lower and the upper corner
    spacing : float or array (d,), optional
        Left out, 100 points along the side that is longest when divided by the scale, and the same distance along the
        others in that measure.
    scale : float or array (d,)
        What makes the axes comparable; matters only without a spacing.

    Returns
    -------
    list of d arrays

    See Also
    --------
    sample_on_grid

    Examples
    --------
    >>> from seminorm.functions import regular_axes
    >>> regular_axes([[0.0, 0.0], [1.0, 2.0]], 2, spacing=[0.5, 1.0])
    [array([0. , 0.5, 1. ]), array([0., 1., 2.])]
    """
    low, high = check_bounds(bounds, dimension)
    if spacing is None:
        widths = (high - low) / scale
        spacing = (widths.max() / (_DEFAULT_POINTS - 1) or 1.0) * np.asarray(scale)
    try:
        steps = np.broadcast_to(np.asarray(spacing, dtype=float), (dimension,))
    except (TypeError, ValueError):
        raise ValueError(f"spacing must be one number or {dimension}, got {spacing!r}.") from None
    if not (np.isfinite(steps).all() and (steps > 0).all()):
        raise ValueError(f"spacing must be positive, got {steps}.")
    # a hair more than the width, so that the far corner is not lost to rounding
    counts = np.floor((high - low) / steps * (1 + 1e-12)) + 1
    _require_memory(counts, 1)
    return [a + step * np.arange(int(n)) for a, step, n in zip(low, steps, counts, strict=True)]


def sample_on_grid(
    functions: Mapping[str | tuple[str, ...], Callable[[np.ndarray], np.ndarray]],
    axes: Sequence[np.ndarray],
    names: Sequence[str] | None = None,
    columns: Sequence[np.ndarray] = (),
) -> Any:
    """Values of functions, given by name, on a grid; the first axis of an array belongs to the first coordinate.

    Parameters
    ----------
    functions : dict of callables
        Each takes points (n, d) to values (n,), or to (n, k) for a tuple of k names.
    axes, names : sequences of d arrays and, optionally, of their names; left out, x0, x1, ...
    columns : sequence of arrays on the grid, optional
        Further columns of the points that functions take.

    Returns
    -------
    xarray.DataArray for one function, xarray.Dataset for several, or (axes, values, ...) without xarray

    See Also
    --------
    regular_axes

    Examples
    --------
    >>> from seminorm.functions import regular_axes, sample_on_grid
    >>> axes = regular_axes([[0.0, 0.0], [1.0, 2.0]], 2, spacing=1.0)
    >>> grid = sample_on_grid({"sum": lambda X: X.sum(axis=1)}, axes, ["x", "y"])
    """
    labels = [f"x{k}" for k in range(len(axes))] if names is None else list(names)
    of_values = [name for key in functions for name in ([key] if isinstance(key, str) else key)]
    if len(labels) != len(axes) or len({*labels, *of_values}) < len(labels) + len(of_values):
        raise ValueError(
            f"names must be {len(axes)} different ones, one per axis and none of {', '.join(of_values)}, got "
            f"{labels!r}."
        )
    _require_memory([len(axis) for axis in axes], len(of_values))
    arrays: dict[str, np.ndarray] = {}
    for key, function in functions.items():
        if isinstance(key, str):
            arrays[key] = _sampled(function, axes, columns)
        else:
            arrays |= zip(key, np.moveaxis(_sampled(function, axes, columns, len(key)), -1, 0), strict=True)
    if importlib.util.find_spec("xarray") is None:
        return tuple(axes), *arrays.values()
    import xarray

    named = {name: (labels, values) for name, values in arrays.items()}
    grid = xarray.Dataset(named, dict(zip(labels, axes, strict=True)))
    return grid[next(iter(arrays))] if all(isinstance(key, str) for key in functions) and len(arrays) == 1 else grid


def _sampled(
    function: Callable, axes: Sequence[np.ndarray], columns: Sequence[np.ndarray], *outputs: int
) -> np.ndarray:
    shape = tuple(len(axis) for axis in axes)
    size = math.prod(shape)
    values = np.empty((size, *outputs))
    for begin in range(0, size, _CHUNK_POINTS):
        numbers = np.unravel_index(np.arange(begin, min(begin + _CHUNK_POINTS, size)), shape)
        further = (column.reshape(-1)[begin : begin + _CHUNK_POINTS] for column in columns)
        points = np.stack([*(axis[n] for axis, n in zip(axes, numbers, strict=True)), *further], axis=1)
        values[begin : begin + _CHUNK_POINTS] = function(points)
    return values.reshape(*shape, *outputs)


def _require_memory(shape: Sequence[int] | np.ndarray, arrays: int) -> None:
    size = " x ".join(f"{n:.0f}" for n in shape)
    needed = int(8 * arrays * math.prod(map(float, shape)))
    require_memory(needed, f"a grid of {size} points", "choose a larger spacing.")
