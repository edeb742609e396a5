"""Profiles that are costly to compute, by polynomials on quarters of octaves."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from .. import _native

_OCTAVES = -64, 64  # that are tabulated; a number beyond is rare
_QUARTERS = 4
_TERMS = 12  # for an error at rounding, of a function that is smooth but at 0


def tabulated(function: Callable[..., np.ndarray], options: tuple[Any, ...], s: np.ndarray) -> np.ndarray:
    """function(s, *options) for s >= 0 of any shape, to rounding; the function must be smooth on s > 0, and have no
    length scale far from 1.
    """
    first, pieces = _table(function, options)
    s = np.ascontiguousarray(s, dtype=np.float64)
    values: np.ndarray = np.empty(s.size)
    _native.read_pieces(pieces, first, s.reshape(-1), values)
    values = values.reshape(s.shape)
    beyond = np.isnan(values)
    if beyond.any():
        values[beyond] = function(s[beyond], *options)
    return values


@cache
def _table(function: Callable[..., np.ndarray], options: tuple[Any, ...]) -> tuple[int, np.ndarray]:
    """The number of the first cell, and coefficients (cells, terms), as native/kernels/pieces.hpp wants them."""
    nodes = chebyshev.chebpts1(_TERMS)
    low, high = _OCTAVES
    middles = 2.0 ** np.arange(low, high)[:, None] * (1.0 + (np.arange(_QUARTERS) + 0.5) / _QUARTERS)
    halves = np.repeat(2.0 ** np.arange(low, high) / (2 * _QUARTERS), _QUARTERS)
    samples = function((middles.ravel()[:, None] + halves[:, None] * nodes).ravel(), *options)
    # by Chebyshev coefficients, which fall fast: solving for those of powers would lose three digits
    series = samples.reshape(-1, _TERMS) @ chebyshev.chebvander(nodes, _TERMS - 1) * (2.0 / _TERMS)
    series[:, 0] *= 0.5
    to_powers = [np.pad(chebyshev.cheb2poly(np.eye(k + 1)[k]), (0, _TERMS - 1 - k)) for k in range(_TERMS)]
    pieces = np.ascontiguousarray(series @ np.array(to_powers))
    return int(np.float64(2.0**low).view(np.uint64) >> np.uint64(50)), pieces
