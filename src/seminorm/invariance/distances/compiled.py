"""Distances that users write as Numba functions."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numba import njit, prange
from numba.core.errors import NumbaError
from numba.extending import is_jitted

from .base import Distance, require_equal_patterns
from .warping import balanced

_PAIRS_AT_ONCE = 1 << 18
_ASYMMETRY = 1e-9


class CompiledDistance(Distance):
    """A distance given by your own function of two patterns, compiled by Numba.

    Numba compiles the function with the loop over all pairs, once per function and process, so it must be written in
    the part of Python and NumPy that Numba understands. The loop runs on all of Numba's threads. The function must be
    symmetric, not negative, and zero between equal patterns: of distances to one another only half are computed.

    Parameters
    ----------
    function : callable
        Maps two arrays (d,) of float64 to a number: a plain function that Numba can compile, or one under ``njit``.

    See Also
    --------
    Distance : The base class, for distances that are not functions of one pair at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.invariance.distances import CompiledDistance
    >>> def largest_difference(x, y):
    ...     return np.abs(x - y).max()
    >>> CompiledDistance(largest_difference).pairwise([[0.0, 0.0], [1.0, 3.0]])
    array([[0., 3.],
           [3., 0.]])
    """

    def __init__(self, function: Callable[[np.ndarray, np.ndarray], float]):
        self.function = function

    def _pairwise(self, X: np.ndarray, Y: np.ndarray | None) -> np.ndarray:
        if not callable(self.function):
            raise TypeError(f"function must be a function of two patterns, got {self.function!r}.")
        require_equal_patterns(X, Y)
        X = np.ascontiguousarray(X)
        other = X if Y is None else np.ascontiguousarray(Y)
        out = np.zeros((len(X), len(other)))
        rows = balanced(len(X)) if Y is None else np.arange(len(X))
        parts = min(len(rows), max(1, out.size // _PAIRS_AT_ONCE))
        try:
            loop = _loop(self.function)
            for part in np.array_split(rows, parts):
                loop(X, other, part, Y is None, out)
            if Y is None:
                self._check_symmetry(loop, X, out)
        except NumbaError as error:
            raise ValueError(
                f"Numba cannot compile the distance {_name(self.function)}: it must take two arrays of float64 and "
                "return a number (numba.njit(function)(X[0], X[1]) shows the error by itself)."
            ) from error
        wrong = ~((out >= 0) & np.isfinite(out))
        if wrong.any():
            i, j = np.argwhere(wrong)[0]
            raise ValueError(
                f"the distance {_name(self.function)} of X[{i}] and {'X' if Y is None else 'Y'}[{j}] is {out[i, j]}: "
                "distances must be finite and not negative."
            )
        return out

    def _check_symmetry(self, loop: Callable, X: np.ndarray, out: np.ndarray) -> None:
        """Whether the first and the last pattern have the same distance both ways."""
        if len(X) < 2:
            return
        back = np.zeros((1, 1))
        loop(X[:1], X[-1:], np.zeros(1, dtype=np.int64), False, back)
        if abs(back[0, 0] - out[-1, 0]) > _ASYMMETRY * max(abs(back[0, 0]), abs(out[-1, 0])):
            raise ValueError(
                f"the distance {_name(self.function)} is not symmetric: from X[0] to X[{len(X) - 1}] it is "
                f"{back[0, 0]}, the other way {out[-1, 0]}. Use, for instance, the mean of both."
            )


def _name(function: Callable) -> str:
    return getattr(function, "__name__", repr(function))


@lru_cache(maxsize=64)
def _loop(function: Callable) -> Callable:
    """The loop over pairs, specialised for the function."""
    distance = function if is_jitted(function) else njit(function)

    @njit(parallel=True)
    def fill(X, Y, rows, symmetric, out):
        for r in prange(rows.size):
            i = rows[r]
            for j in range(i if symmetric else Y.shape[0]):
                value = distance(X[i], Y[j])
                out[i, j] = value
                if symmetric:
                    out[j, i] = value

    return fill
