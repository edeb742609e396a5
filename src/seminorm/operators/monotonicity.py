"""Complete monotonicity of a profile in s = r^2: sufficient for conditional positive definiteness in all dimensions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.polynomial import chebyshev

_DERIVATIVES = 6
_NODES = 33
_PLACES = 2.0 ** np.arange(-8.0, 9.0)


def monotone_order(profile: Callable, length: float = 1.0) -> int | None:
    """The smallest m such that (-1)^n h^(n)(s) >= 0 for n = m, ..., 6 at all s tried, h(s) = profile(sqrt(s)); None if
    there is none (seed 003, definition 10).

    Derivatives are those of Chebyshev interpolants between s / 2 and 2 s; signs below their rounding errors count for
    either side.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.operators.monotonicity import monotone_order
    >>> monotone_order(lambda r: np.exp(-r)), monotone_order(lambda r: r**3), monotone_order(np.cos)
    (0, 2, None)
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
