"""Kernels without a length scale: -(sum_k |x_k - y_k|^q)^p for q = 1, 2, conditionally positive definite of order 1.

A dilation multiplies them by a factor, which alpha takes up: of a metric, only the shape matters.
"""

from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

_NEAR = 1e-12  # squared distances below this share of the largest count as coincident
_SCALARS = 2**22  # of a block of differences


class PowerProfile(NamedTuple):
    """k(x, y) = -D^power with D = sum_k |x_k - y_k|^norm; power <= 1 (norm 2: -r^(2 power), norm 1: l1 distances)."""

    power: float
    norm: int = 2

    @property
    def is_linear(self) -> bool:
        """Whether beside constants it is the linear kernel."""
        return self.power == 1.0 and self.norm == 2

    def sums(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """D (n, m)."""
        return cdist(X, Y, "sqeuclidean" if self.norm == 2 else "cityblock")

    def values(self, sums: np.ndarray, overwrite: bool = False) -> np.ndarray:
        """-D^p."""
        out = sums if overwrite else np.empty_like(sums)
        if self.power == 0.5:
            np.sqrt(sums, out=out)
        else:
            np.power(sums, self.power, out=out)
        return np.negative(out, out=out)

    def matrix(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """The kernel matrix (n, m)."""
        return self.values(self.sums(X, Y), overwrite=True)

    def slopes(self, sums: np.ndarray) -> np.ndarray:
        """d/dD of -D^p; 0 where points coincide, which adds nothing to a gradient (its limit, where it has one)."""
        if self.power == 1.0:
            return np.full_like(sums, -1.0)
        apart = sums > _NEAR * sums.max(initial=0.0)
        slopes = np.power(sums, self.power - 1.0, where=apart, out=np.zeros_like(sums))
        return np.multiply(slopes, -self.power, out=slopes)

    def gradients(self, X: np.ndarray, centers: np.ndarray, dual: np.ndarray) -> np.ndarray:
        """Gradients (n, k, d) at X of sum_j dual[j] k(., c_j), dual (m, k)."""
        slopes = self.slopes(self.sums(X, centers))
        if self.norm == 2:
            # sum_j s_ij a_j (x_i - c_j), as differences of two products
            whole = slopes @ dual
            moved = np.stack([(slopes * a) @ centers for a in dual.T], axis=1)
            return 2.0 * (X[:, None, :] * whole[:, :, None] - moved)
        out = np.empty((len(X), dual.shape[1], X.shape[1]))
        rows = max(1, _SCALARS // max(len(centers), 1))
        for start in range(0, len(X), rows):
            block = slice(start, start + rows)
            for k in range(X.shape[1]):
                out[block, :, k] = (slopes[block] * np.sign(X[block, k, None] - centers[:, k])) @ dual
        return out
