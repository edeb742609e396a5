"""Power series of a function of one variable, by samples."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.polynomial import chebyshev

RADIUS = 0.5
_SAMPLES = 128


def power_series(function: Callable, count: int, radius: float = RADIUS) -> tuple[np.ndarray, np.ndarray]:
    """The first coefficients of the Taylor series at 0, times radius^n, and bounds of their errors.

    The function is sampled on the circle of the given radius in the complex plane (Cauchy's formula), or, if it does
    not take complex numbers, interpolated on [-radius, radius].

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.operators.power_series import power_series
    >>> (power_series(np.tanh, 6)[0] / 0.5 ** np.arange(6)).round(4) + 0.0
    array([ 0.    ,  1.    ,  0.    , -0.3333,  0.    ,  0.1333])
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
