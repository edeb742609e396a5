"""Radial profiles in the forms that compiled loops evaluate: closed formulas, or tables of polynomials.

A form is twelve numbers, a table and the number of its first cell, as native/summation/profiles.hpp describes them.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from .. import _native

_POWER, _LOG, _ROOT, _GAUSS, _DECAY, _TRUNCATED, _TABLE = range(7)
_COEFFICIENTS = 8  # of a closed form, and of a cell of a table
_OCTAVES = 208  # of squared distances that a table covers, below the largest one
_REFINEMENTS = 4, 6, 8, 10  # cells for each octave, as powers of 2
_SAMPLES = 4096
_ROUNDING = 2e-13  # of a table, relative to the largest value nearby, or the largest at usual distances


class Form(NamedTuple):
    """A profile for compiled loops."""

    numbers: np.ndarray
    table: np.ndarray = np.zeros((_COEFFICIENTS, 0))
    first: int = 0

    def __call__(self, squared_distance: np.ndarray) -> np.ndarray:
        """Its values."""
        squares = np.ascontiguousarray(squared_distance, dtype=np.float64)
        values = np.empty(squares.size)
        _native.read_profile(*self, squares.reshape(-1), values)
        return values.reshape(squares.shape)

    def times(self, factor: float) -> "Form":
        """The profile times a number."""
        numbers = self.numbers.copy()
        numbers[4:] *= factor
        return Form(numbers, self.table * factor, self.first)

    def over(self, factor: float) -> "Form | None":
        """The profile of s times a positive number, where the form has a place for it."""
        if factor == 1.0:
            return self
        numbers = self.numbers.copy()
        if numbers[0] in (_POWER, _LOG):
            n = numbers[2] if numbers[0] == _LOG else 0.5 * numbers[2]
            numbers[5] += numbers[4] * np.log(factor) if numbers[0] == _LOG else 0.0
            numbers[4:] *= factor**n
        else:
            numbers[1] *= factor
        return Form(numbers, self.table, self.first)


def _closed(form: int, coefficients: Sequence[float], b: float = 0.0, n: int = 0, q: int = 0) -> Form | None:
    if len(coefficients) > _COEFFICIENTS:
        return None
    numbers = np.zeros(4 + _COEFFICIENTS)
    numbers[:4] = form, b, n, q
    numbers[4 : 4 + len(coefficients)] = coefficients
    return Form(numbers)


def half_power(factor: float, n: int) -> Form | None:
    """factor * s^(n/2)."""
    return _closed(_POWER, [factor], n=n)


def log_power(n: int, log_factor: float, plain_factor: float) -> Form | None:
    """s^n (log_factor log s + plain_factor)."""
    return _closed(_LOG, [log_factor, plain_factor], n=n)


def shifted_root(factor: float, slope: float, n: int) -> Form | None:
    """factor * (1 + slope s)^(n/2)."""
    return _closed(_ROOT, [factor], slope, n)


def gauss(factor: float, slope: float) -> Form | None:
    """factor * exp(-slope s)."""
    return _closed(_GAUSS, [factor], slope)


def decay(coefficients: Sequence[float], stretch: float, q: int) -> Form | None:
    """exp(-z) P(z) / z^q with z = sqrt(stretch s)."""
    return _closed(_DECAY, coefficients, stretch, q=q)


def truncated(coefficients: Sequence[float], exponent: int, q: int) -> Form | None:
    """(1 - z)_+^exponent P(z) / z^q with z = sqrt(s)."""
    return _closed(_TRUNCATED, coefficients, 1.0, exponent, q)


def table(profile: Callable[[np.ndarray], np.ndarray], largest: float, knots: np.ndarray) -> Form | None:
    """The profile for squared distances up to ``largest`` from a table whose error is at rounding, or None.

    Where it is not smooth at a distance, a knot, cells end there; that is possible for one knot.
    """
    unit = float(knots[-1]) ** -2 if len(knots) else 1.0
    high = int(np.ceil(np.log2(max(largest * unit, 1e-200)))) + 1
    low = high - _OCTAVES
    samples = _samples(largest, 2.0 ** (low + 1) / unit, knots)
    with np.errstate(over="ignore", under="ignore"):
        exact = profile(samples)
        if not np.isfinite(exact).all():
            return None
        nearby = np.max([np.abs(profile(samples * factor)) for factor in (0.5, 1.0, 2.0)], axis=0)
        usual = np.abs(profile(largest * np.linspace(0.01, 1.0, 1000))).max()
        allowed = _ROUNDING * np.maximum(nearby, usual)
        for refinement in _REFINEMENTS:
            form = _table(profile, unit, low, high, refinement)
            if (np.abs(form(samples) - exact) <= allowed).all():
                return form
    return None


def _samples(largest: float, least: float, knots: np.ndarray) -> np.ndarray:
    """Squared distances of all sizes, evenly spread ones, and some on either side of each knot."""
    rng = np.random.default_rng(0)
    sizes = least * (largest / least) ** rng.random(_SAMPLES)
    steps = 2.0 ** -np.linspace(2.0, 20.0, 100)
    beside = np.outer(np.square(knots), 1.0 + np.concatenate([steps, -steps])).reshape(-1)
    return np.concatenate([sizes, largest * rng.random(_SAMPLES), beside[beside <= largest]])


def _table(profile, unit: float, low: int, high: int, refinement: int) -> Form:
    parts = 2**refinement
    nodes = chebyshev.chebpts1(_COEFFICIENTS)
    middles = 2.0 ** np.arange(low, high)[:, None] * (1.0 + (np.arange(parts) + 0.5) / parts)
    halves = np.repeat(2.0 ** np.arange(low, high) / (2 * parts), parts)
    samples = profile((middles.ravel()[:, None] + halves[:, None] * nodes).ravel() / unit).reshape(-1, _COEFFICIENTS)
    series = samples @ chebyshev.chebvander(nodes, _COEFFICIENTS - 1) * (2.0 / _COEFFICIENTS)
    series[:, 0] *= 0.5
    to_powers = [np.pad(chebyshev.cheb2poly(np.eye(k + 1)[k]), (0, _COEFFICIENTS - 1 - k)) for k in range(8)]
    numbers = np.zeros(4 + _COEFFICIENTS)
    numbers[:5] = _TABLE, unit, refinement, 0, profile(np.zeros(1))[0]
    first = int(np.float64(2.0**low).view(np.uint64) >> np.uint64(52 - refinement))
    return Form(numbers, np.ascontiguousarray((series @ np.array(to_powers)).T), first)
