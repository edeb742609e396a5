"""One V-cycle over coarser and coarser systems, as a preconditioner."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from .sparse import factorize

_POWER_STEPS = 12
_CHEBYSHEV_STEPS = 3
_SMOOTHED = 0.1  # the part of the spectrum that coarser grids see


class Multigrid:
    """An approximate inverse of a positive definite sparse matrix: one V-cycle over coarser and coarser grids.

    It is symmetric and positive definite itself, so it serves as a preconditioner. Smoothing is by Chebyshev
    polynomials in the matrix, scaled by its diagonal; the coarsest system is factorised. The first of the
    ``refinements`` (n, m) takes the coefficients of the next coarser grid to those of this one, and so on.
    """

    def __init__(self, matrix: sparse.csr_array, refinements: Iterable[sparse.csr_array]):
        self._levels = []
        for refine in refinements:
            level = _SmoothedLevel.of(matrix, refine)
            self._levels.append(level)
            matrix = sparse.csr_array(level.restrict @ matrix @ refine)
        self._direct = factorize(matrix)

    def __call__(self, right: np.ndarray) -> np.ndarray:
        """The inverse, applied to a vector or to the columns of an array."""
        return self._cycle(0, right)

    def _cycle(self, number: int, right: np.ndarray) -> np.ndarray:
        if number == len(self._levels):
            return self._direct(right)
        level = self._levels[number]
        x = level.smooth(right, None)
        x += level.refine @ self._cycle(number + 1, level.restrict @ (right - level.matrix @ x))
        return level.smooth(right, x)


class _SmoothedLevel(NamedTuple):
    matrix: sparse.csr_array
    inverse: np.ndarray  # of the diagonal
    largest: float  # eigenvalue of the scaled matrix, from above
    refine: sparse.csr_array
    restrict: sparse.csr_array

    @classmethod
    def of(cls, matrix: sparse.csr_array, refine: sparse.csr_array) -> _SmoothedLevel:
        inverse = 1.0 / matrix.diagonal()
        return cls(matrix, inverse, _largest_eigenvalue(matrix, inverse), refine, sparse.csr_array(refine.T))

    def smooth(self, right: np.ndarray, x: np.ndarray | None) -> np.ndarray:
        """Chebyshev steps that reduce the error in the upper part of the spectrum."""
        inverse = self.inverse if right.ndim == 1 else self.inverse[:, None]
        middle, half = 0.5 * self.largest * (1 + _SMOOTHED), 0.5 * self.largest * (1 - _SMOOTHED)
        residual = right if x is None else right - self.matrix @ x
        step = inverse * residual / middle
        x = step if x is None else x + step
        rho = half / middle
        for _ in range(_CHEBYSHEV_STEPS - 1):
            residual = residual - self.matrix @ step
            after = 1.0 / (2.0 * middle / half - rho)
            step = after * rho * step + 2.0 * after / half * inverse * residual
            x = x + step
            rho = after
        return x


def _largest_eigenvalue(matrix: sparse.csr_array, inverse: np.ndarray) -> float:
    """Some steps of the power method, and a tenth more."""
    x = np.random.default_rng(0).standard_normal(len(inverse))
    for _ in range(_POWER_STEPS):
        x /= np.linalg.norm(x)
        x = inverse * (matrix @ x)
    return 1.1 * float(np.linalg.norm(x))
