"""Least squares with a free constant and a symmetric matrix that may be indefinite, and weights of several matrices.

Negative eigenvalues on the complement of the constant count as zero, for training points and for new ones alike. Where
there are some, leave-one-out values in closed form are those of the repaired matrix, which has seen the point left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..linear.paths import EigenPath
from .selection import left_out_residuals
from .system import ReducedSystem

_POWER = 4.0


class ClippedRidge:
    """(K+ + alpha I) a + b 1 = y, 1' a = 0 for all alphas, with K (n, n), overwritten, and y (n, k)."""

    def __init__(self, K: np.ndarray, y: np.ndarray):
        self.column_means = K.mean(axis=0)
        self.mean = y.mean(axis=0)
        self.system = ReducedSystem(K, np.ones((len(K), 1)), y, np.ones(len(K)))
        self.path = EigenPath(self.system.take_matrix(), self.system.z)
        self.negative = self.path.values < 0
        self.path.values = np.maximum(self.path.values, 0.0)

    def left_out(self, alphas: np.ndarray) -> np.ndarray:
        """Residuals (q, n, k) of each point when it is left out, for each alpha."""
        blocks = [residuals for _, residuals in left_out_residuals(self.system, self.path, alphas)]
        return np.concatenate(blocks, axis=1)

    def solve(self, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients a (n, k) and b (k,) of the function k(x)' a + b of a new row k(x) of the given matrix.

        The part of a along clipped eigenvectors is left out: it would multiply zeros of the repaired row.
        """
        g = self.path.z / (self.path.values + alpha)[:, None]
        g[self.negative] = 0.0
        a = self.system.coefficients(self.path.vectors @ g)[0]
        return a, self.mean - self.column_means @ a


def weights_by_loss(losses: Sequence[float] | np.ndarray) -> np.ndarray:
    """Weights that add to 1, proportional to loss^-4."""
    losses = np.asarray(losses, dtype=float)
    relative = losses / max(losses.min(), np.finfo(float).tiny)
    weights = np.maximum(relative, 1.0) ** -_POWER
    return weights / weights.sum()
