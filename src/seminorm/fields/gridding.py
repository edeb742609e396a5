"""Regular grids of the values of a function."""

from __future__ import annotations

import importlib.util
import math

import numpy as np

from ..functions import Function
from ..memory import require_memory

_DEFAULT_POINTS = 100
_CHUNK_POINTS = 2**18


def sample_on_grid(function: Function, bounds, spacing=None, names=None, value_name: str = "value"):
    """Values on a regular grid between two corners.

    Returns
    -------
    xarray.DataArray, or (axes, values) without xarray
        The first axis of the array belongs to the first coordinate.
    """
    low, high = (np.asarray(corner, dtype=float) for corner in bounds)
    d = len(low)
    if low.shape != high.shape or low.ndim != 1 or not (high >= low).all():
        raise ValueError(f"bounds must be two corners (d,), the lower one first, got {low} and {high}.")
    if spacing is None:
        spacing = max((high - low).max() / (_DEFAULT_POINTS - 1), np.finfo(float).tiny)
    spacing = np.broadcast_to(np.asarray(spacing, dtype=float), (d,))
    if not (np.isfinite(spacing).all() and (spacing > 0).all()):
        raise ValueError(f"spacing must be positive, got {spacing}.")
    # a hair more than the width, so that the far corner is not lost to rounding
    axes = [
        a + step * np.arange(math.floor((b - a) / step * (1 + 1e-12)) + 1)
        for a, b, step in zip(low, high, spacing, strict=True)
    ]
    shape = tuple(len(axis) for axis in axes)
    require_memory(8 * math.prod(shape), f"a grid of {' x '.join(map(str, shape))} points", "choose a larger spacing.")
    values = np.empty(math.prod(shape))
    for begin in range(0, values.size, _CHUNK_POINTS):
        numbers = np.unravel_index(np.arange(begin, min(begin + _CHUNK_POINTS, values.size)), shape)
        values[begin : begin + _CHUNK_POINTS] = function(
            np.stack([axis[n] for axis, n in zip(axes, numbers, strict=True)], axis=1)
        )
    values = values.reshape(shape)
    if importlib.util.find_spec("xarray") is None:
        return tuple(axes), values
    import xarray

    names = [f"x{k}" for k in range(d)] if names is None else list(names)
    return xarray.DataArray(values, coords=dict(zip(names, axes, strict=True)), dims=names, name=value_name)
