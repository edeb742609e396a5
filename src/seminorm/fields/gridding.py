"""Regular grids of the values of functions."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..memory import require_memory

_DEFAULT_POINTS = 100
_CHUNK_POINTS = 2**18


def as_corners(bounds, dimension: int, name: str = "bounds") -> tuple[np.ndarray, np.ndarray]:
    """The lower and the upper corner of a box, which may be given as such or flat, as (xmin, xmax, ymin, ymax, ...).

    Examples
    --------
    >>> from seminorm.fields.gridding import as_corners
    >>> as_corners((0, 2, -1, 1), 2)
    (array([ 0., -1.]), array([2., 1.]))
    >>> as_corners(([0, -1], [2, 1]), 2)
    (array([ 0., -1.]), array([2., 1.]))
    """
    try:
        numbers = np.array(bounds, dtype=float)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape not in ((2, dimension), (2 * dimension,)):
        raise ValueError(
            f"{name} must be {2 * dimension} numbers for {dimension} coordinates, the least and the largest of each, "
            f"or two corners of {dimension}, got {bounds!r}."
        )
    low, high = numbers if numbers.ndim == 2 else (numbers[::2], numbers[1::2])
    if not (np.isfinite(numbers).all() and (low <= high).all()):
        raise ValueError(
            f"{name} must be finite and in order, the least of each coordinate before the largest, or the lower corner "
            f"before the upper one, got {bounds!r}."
        )
    return low, high


def regular_axes(bounds, dimension: int, spacing=None, scale=1.0) -> list[np.ndarray]:
    """Coordinates along each axis of a grid.

    Parameters
    ----------
    bounds : two corners, or flat
        See :func:`as_corners`.
    dimension : int
    spacing : float or array (d,), optional
        Left out, 100 points along the side that is longest when divided by the scale, and the same distance along the
        others in that measure.
    scale : float or array (d,)
        What makes the axes comparable; matters without a spacing only.
    """
    low, high = as_corners(bounds, dimension)
    if spacing is None:
        widths = (high - low) / scale
        spacing = (widths.max() / (_DEFAULT_POINTS - 1) or 1.0) * np.asarray(scale)
    try:
        spacing = np.broadcast_to(np.asarray(spacing, dtype=float), (dimension,))
    except (TypeError, ValueError):
        raise ValueError(f"spacing must be one number or {dimension}, got {spacing!r}.") from None
    if not (np.isfinite(spacing).all() and (spacing > 0).all()):
        raise ValueError(f"spacing must be positive, got {spacing}.")
    # a hair more than the width, so that the far corner is not lost to rounding
    steps = np.floor((high - low) / spacing * (1 + 1e-12))
    _require_memory(steps + 1, 1)
    return [a + step * np.arange(int(n) + 1) for a, step, n in zip(low, spacing, steps, strict=True)]


def sample_on_grid(functions: Mapping[str, Callable[[np.ndarray], np.ndarray]], axes: Sequence[np.ndarray], names=None):
    """Values of functions, given by name, on a grid; the first axis of an array belongs to the first coordinate.

    Returns
    -------
    xarray.DataArray for one function, xarray.Dataset for several, or (axes, values, ...) without xarray
    """
    names = [f"x{k}" for k in range(len(axes))] if names is None else list(names)
    if len(names) != len(axes) or len({*names, *functions}) < len(names) + len(functions):
        raise ValueError(
            f"names must be {len(axes)} different ones, one an axis and none of {', '.join(functions)}, got {names!r}."
        )
    _require_memory([len(axis) for axis in axes], len(functions))
    arrays = {name: _sampled(function, axes) for name, function in functions.items()}
    if importlib.util.find_spec("xarray") is None:
        return tuple(axes), *arrays.values()
    import xarray

    grid = xarray.Dataset(
        {name: (names, values) for name, values in arrays.items()}, dict(zip(names, axes, strict=True))
    )
    return grid[next(iter(arrays))] if len(arrays) == 1 else grid


def _sampled(function: Callable, axes: Sequence[np.ndarray]) -> np.ndarray:
    shape = tuple(len(axis) for axis in axes)
    values = np.empty(math.prod(shape))
    for begin in range(0, values.size, _CHUNK_POINTS):
        numbers = np.unravel_index(np.arange(begin, min(begin + _CHUNK_POINTS, values.size)), shape)
        values[begin : begin + _CHUNK_POINTS] = function(
            np.stack([axis[n] for axis, n in zip(axes, numbers, strict=True)], axis=1)
        )
    return values.reshape(shape)


def _require_memory(shape, arrays: int) -> None:
    size = " x ".join(f"{n:.0f}" for n in shape)
    require_memory(8 * arrays * math.prod(map(float, shape)), f"a grid of {size} points", "choose a larger spacing.")
