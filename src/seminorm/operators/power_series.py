"""Functions of one variable, by samples: power series, and complete monotonicity in s = r^2, which is sufficient for
conditional positive definiteness in all dimensions.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.polynomial import chebyshev

RADIUS = 0.5
_SAMPLES = 128
_DERIVATIVES = 6
_NODES = 33
_PLACES = 2.0 ** np.arange(-8.0, 9.0)


def power_series(function: Callable, count: int, radius: float = RADIUS) -> tuple[np.ndarray, np.ndarray]:
    """The first coefficients of the Taylor series at 0, times radius^n, and bounds of their errors.

    The function is sampled on the circle of the given radius in the complex plane (Cauchy's formula), or, if it does
    not take complex numbers, interpolated on [-radius, radius].
    """
    circle = radius * np.exp(2j * math.pi * np.arange(_SAMPLES) / _SAMPLES)
    try:
        with np.errstate(all="ignore"):
            values = np.asarray(function(circle))
        if np.iscomplexobj(values) and values.shape == circle.shape and np.isfinite(values).all():
            coefficients = np.fft.fft(values)[:count] / _SAMPLES
            scale = np.abs(values).max()
            wrapped = np.abs(np.fft.fft(values)[_SAMPLES // 2 :]).max() / _SAMPLES
            if np.abs(coefficients.imag).max() <= 1e-10 * scale:
                return coefficients.real, np.full(count, 1e-14 * scale + wrapped)
    except TypeError:
        pass  # a function of real numbers only
    nodes = np.cos(math.pi * (np.arange(_SAMPLES) + 0.5) / _SAMPLES)
    samples = np.asarray(function(radius * nodes), dtype=float)
    degree = min(count, 16) - 1
    series = chebyshev.cheb2poly(chebyshev.chebfit(nodes, samples, degree + 8))
    coefficients = np.pad(series[: degree + 1], (0, count - degree - 1))
    errors = 1e-15 * np.abs(samples).max() * 6.0 ** np.arange(count)
    return coefficients, np.where(np.arange(count) > degree, 0.0, errors)


def monotone_order(profile: Callable, length: float = 1.0) -> int | None:
    """The smallest m such that (-1)^n h^(n)(s) >= 0 for n = m, ..., 6 at all s tried, h(s) = profile(sqrt(s)); None if
    there is none [Smola et al. 1998, definition 10].

    Derivatives are those of Chebyshev interpolants between s / 2 and 2 s; signs below their rounding errors count for
    either side. The places tried are within a factor of 256 of the square of ``length``.
    """
    signs = [_signs(profile, length**2 * place) for place in _PLACES]
    holds = [all(sign[n] >= 0 for sign in signs) for n in range(_DERIVATIVES + 1)]
    decided = [any(sign[n] > 0 for sign in signs) for n in range(_DERIVATIVES + 1)]
    for order in range(4):
        if all(holds[order:]) and decided[order]:
            return order
    return None


def _signs(profile: Callable, s: float) -> np.ndarray:
    """Signs of (-1)^n h^(n)(s), 0 where they are not certain."""
    low, high = 0.5 * s, 2.0 * s
    nodes = np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
    samples = profile(np.sqrt(0.5 * (low + high) + 0.5 * (high - low) * nodes))
    series = chebyshev.chebfit(nodes, samples, _NODES - 1)
    if np.abs(series[-3:]).max() > 1e-12 * np.abs(series).max():
        return np.zeros(_DERIVATIVES + 1)  # not resolved by the interpolant
    at = (s - 0.5 * (low + high)) / (0.5 * (high - low))
    signs = np.zeros(_DERIVATIVES + 1)
    for n in range(_DERIVATIVES + 1):
        value = (-1) ** n * chebyshev.chebval(at, chebyshev.chebder(series, n) if n else series)
        rounding = 1e-13 * np.abs(samples).max() * float(_NODES) ** (1.4 * n)
        signs[n] = np.sign(value) if abs(value) > rounding else 0.0
    return signs
