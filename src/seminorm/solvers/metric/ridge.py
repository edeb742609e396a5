"""Least squares with a kernel of order 1 and the constant free: (K + alpha W^-1) a + b = y, 1' a = 0.

K is centred, and s 1 1' / n is put back, so that one Cholesky factorisation gives everything; a projection afterwards
makes the dual coefficients sum to zero, and leave-one-out exact at every alpha.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from ..._base.warnings import warn_user

_SINGULAR = "the kernel matrix is singular to working precision, and alpha is raised from {:.1e} to {:.1e}."
_FACTOR = 10.0
_RAISES = 8


class CenteredKernel:
    """K (n, n), overwritten, with the constant taken out and put back with the weight s = trace / n of the rest."""

    def __init__(self, K: np.ndarray, weights: np.ndarray):
        self.mean = K.mean(axis=0)
        self.grand = float(self.mean.mean())
        K -= self.mean
        K -= (self.mean - self.grand)[:, None]
        self.scale = float(np.trace(K)) / len(K)
        if not self.scale > 0:  # all points coincide
            self.scale = 1.0
        K += self.scale / len(K)
        self.K, self.weights = K, weights

    def factor(self, alpha: float) -> tuple[np.ndarray, float]:
        """The lower Cholesky factor of K + alpha W^-1, and the alpha that it took."""
        for _ in range(_RAISES):
            M = np.array(self.K, order="F")
            M[np.diag_indices_from(M)] += alpha / self.weights
            L, info = lapack.dpotrf(M, lower=1, overwrite_a=1, clean=0)
            if info == 0:
                return L, alpha
            warn_user(_SINGULAR.format(alpha, _FACTOR * alpha))
            alpha *= _FACTOR
        raise ValueError("the kernel matrix is not positive definite: X or y may hold values that are too large.")

    def dual(self, L: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Dual coefficients (n, k), and u = M^-1 1."""
        solved = lapack.dpotrs(L, np.column_stack([Y, np.ones(len(Y))]), lower=1)[0]
        B, u = solved[:, :-1], solved[:, -1]
        return B - np.outer(u, u @ Y / u.sum()), u

    def constant(self, dual: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """b (k,): the weighted mean of what sum_j a_j k(., x_j), with the kernel as it was, leaves of Y."""
        values = self.K @ dual + self.mean @ dual  # the coefficients sum to 0: other terms of the centring drop out
        return np.average(Y - values, axis=0, weights=self.weights)


class RidgeFit(NamedTuple):
    """A fitted function sum_j dual[j] k(., x_j) + constant."""

    dual: np.ndarray  #: (n, k)
    constant: np.ndarray  #: (k,)
    alpha: float


def fit(system: CenteredKernel, Y: np.ndarray, alpha: float) -> RidgeFit:
    """The minimiser at one alpha."""
    L, alpha = system.factor(alpha)
    dual, _ = system.dual(L, Y)
    return RidgeFit(dual, system.constant(dual, Y), alpha)


def left_out_last(
    system: CenteredKernel, Y: np.ndarray, alpha: float, count: int, share: np.ndarray | None = None
) -> np.ndarray:
    """Leave-one-out predictions (count, k) at the last points, whose block of the inverse needs least work.

    Of a point that stands for several, ``share`` (n,) of its weight is left out.
    """
    L, alpha = system.factor(alpha)
    dual, u = system.dual(L, Y)
    first = len(Y) - count
    T = np.tril(lapack.dtrtri(L[first:, first:], lower=1)[0])
    # (M^-1) of the last block is T' T; projecting the constant out takes u u' / 1'u off
    diagonal = np.einsum("ij,ij->j", T, T) - u[first:] ** 2 / u.sum()
    if share is not None:  # residuals alpha a / w over one minus the share of their leverage 1 - alpha diagonal / w
        kept = (1.0 - share[first:]) * system.weights[first:] / alpha
        diagonal = kept + share[first:] * diagonal
    with np.errstate(divide="ignore", invalid="ignore"):
        return Y[first:] - dual[first:] / diagonal[:, None]


def mean_square(predicted: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> float:
    """Weighted mean over points of squared errors, summed over outputs; infinite where a prediction is not defined."""
    loss = float(np.average(((predicted - Y) ** 2).sum(axis=1), weights=weights))
    return loss if np.isfinite(loss) else np.inf
