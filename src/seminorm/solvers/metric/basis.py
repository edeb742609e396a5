"""Least squares on some of the points as centres, for many rows: f = sum_j c_j k(., x_j) + b over m centres, 1'c = 0.

Kernel rows are made block by block; what stays are matrices (m, m). One eigendecomposition serves all alphas. Alpha is
chosen by leave-one-out at some of the rows.
"""

import numpy as np
from scipy.linalg import eigh, solve_triangular

from .profiles import PowerProfile
from .ridge import CenteredKernel, RidgeFit, mean_square

_BLOCK = 2**23  # kernel values at a time
_JITTER = 1e-6  # of the penalty, in units of its mean eigenvalue: squares of kernel rows are not exact enough for less
_EXPONENTS = np.arange(-5.0, 3.01, 0.25)


class BasisSystem:
    """Rows Z (n, d), targets Y (n, k), weights (n,) of mean 1, and the numbers of the rows that are centres (m,)."""

    def __init__(self, profile: PowerProfile, Z: np.ndarray, centers: np.ndarray, Y: np.ndarray, weights: np.ndarray):
        self.profile, self.Z, self.C, self.Y, self.weights = profile, Z, Z[centers], Y, weights
        m = len(centers)
        inner = CenteredKernel(profile.matrix(self.C, self.C), np.ones(m))
        self.scale = inner.scale
        self.L, _ = inner.factor(_JITTER * self.scale)
        total = weights.sum()
        gram, cross, mean = np.zeros((m, m)), np.zeros((m, Y.shape[1])), np.zeros(m)
        self.y_mean = weights @ Y / total
        for rows in self._blocks():
            F = self._features(Z[rows])
            weighted = F * weights[rows, None]
            gram += weighted.T @ F
            cross += weighted.T @ (Y[rows] - self.y_mean)
            mean += weighted.sum(axis=0)
        self.mean = mean / total
        gram -= total * np.outer(self.mean, self.mean)
        # in coordinates where the penalty is the identity, and the Gram matrix diagonal
        half = solve_triangular(self.L, gram, lower=True, check_finite=False)
        gram = solve_triangular(self.L, half.T, lower=True, check_finite=False)
        self.values, vectors = eigh(0.5 * (gram + gram.T), overwrite_a=True, driver="evd", check_finite=False)
        self.values = np.maximum(self.values, 0.0)
        self.map = solve_triangular(self.L, vectors, lower=True, trans="T", check_finite=False)
        self.cross = self.map.T @ cross

    def _blocks(self):
        step = max(1, _BLOCK // len(self.C))
        return [slice(i, min(i + step, len(self.Z))) for i in range(0, len(self.Z), step)]

    def _features(self, Z: np.ndarray) -> np.ndarray:
        """Kernel rows, whose mean over the centres is taken off: the coefficients sum to zero."""
        K = self.profile.matrix(Z, self.C)
        K -= K.mean(axis=1, keepdims=True)
        return K

    def fit(self, alpha: float) -> RidgeFit:
        """Coefficients of the centres, and the constant."""
        coefficients = self.map @ (self.cross / (self.values + alpha)[:, None])
        constant = self.y_mean - self.mean @ coefficients
        return RidgeFit(coefficients - coefficients.mean(axis=0), constant, alpha)

    def choose(self, rows: np.ndarray, share: np.ndarray | None = None) -> tuple[float, np.ndarray]:
        """The exponent of alpha, log10(alpha / scale), with the least leave-one-out error at some rows, and the
        predictions (len(rows), k) there. ``share`` (n,) of a weight is left out, by default all of it.
        """
        F = (self._features(self.Z[rows]) - self.mean) @ self.map
        weights, Y = self.weights[rows], self.Y[rows]
        left = weights if share is None else weights * share[rows]
        best: tuple[float, float, np.ndarray] = np.inf, _EXPONENTS[-1], np.tile(self.y_mean, (len(rows), 1))
        for exponent in _EXPONENTS[::-1]:
            shrink = 1.0 / (self.values + self.scale * 10.0**exponent)
            values = self.y_mean + F @ (shrink[:, None] * self.cross)
            leverage = left * (F**2 @ shrink + 1.0 / self.weights.sum())
            left_out = Y - (Y - values) / (1.0 - leverage)[:, None]
            loss = mean_square(left_out, Y, weights)
            if loss < best[0]:
                best = loss, float(exponent), left_out
        return best[1], best[2]
