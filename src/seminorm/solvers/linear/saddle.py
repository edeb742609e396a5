"""Saddle-point systems [[G, E], [E', 0]] with a symmetric G that need not be positive definite.

What decides is G on the null space of E': with Z an orthonormal basis of it (Householder reflections), Z'GZ is positive
definite at a strict minimum under the constraints. Then, and only then, its Cholesky factorisation exists, and
B = Z (Z'GZ)^-1 Z' is the dual block of the inverse of the saddle matrix.
"""

import numpy as np
from scipy.linalg import eigh, lapack

from .householder import Reflectors

_RANK = 1e-10


class SaddleFactor:
    """The factorisation of a saddle matrix, G (n, n) and E (n, r), by its reduced block; E may be rank-deficient."""

    def __init__(self, G: np.ndarray, E: np.ndarray):
        self.G, self.E = G, E
        left, sizes, _ = np.linalg.svd(E, full_matrices=False)
        basis = left[:, sizes > _RANK * max(sizes.max(initial=0.0), 1e-300)] if E.size else np.empty((len(G), 0))
        self.rank = basis.shape[1]
        self._reflectors = Reflectors.triangularize(basis)[0] if self.rank else None
        reduced = np.array(G, order="F")
        if self._reflectors is not None:
            self._reflectors.sandwich(reduced)
        self._reduced = np.asfortranarray(reduced[self.rank :, self.rank :])
        self._L, info = self._reduced, 0
        if self._reduced.size:
            self._L, info = lapack.dpotrf(self._reduced, lower=1, clean=1)
        self.is_definite = info == 0

    def _to_space(self, B: np.ndarray) -> np.ndarray:
        padded = np.concatenate([np.zeros((self.rank,) + B.shape[1:]), B])
        return padded if self._reflectors is None else self._reflectors.apply(padded)

    def _to_reduced(self, B: np.ndarray) -> np.ndarray:
        return (B if self._reflectors is None else self._reflectors.apply_transposed(B))[self.rank :]

    def apply_inverse(self, B: np.ndarray) -> np.ndarray:
        """Z (Z'GZ)^-1 Z' B, for a definite reduced block."""
        reduced = self._to_reduced(B)
        return self._to_space(lapack.dpotrs(self._L, reduced, lower=1)[0]) if reduced.size else np.zeros_like(B)

    def inverse_diagonal(self) -> np.ndarray:
        """Diagonal of the dual block of the inverse."""
        if not self.is_definite:
            return np.full(len(self.G), np.nan)
        if not self._L.size:
            return np.zeros(len(self.G))
        return (self._to_space(lapack.dtrtri(self._L, lower=1)[0].T) ** 2).sum(axis=1)

    def conditional_variance(self, K: np.ndarray, Q: np.ndarray, active: np.ndarray, others: np.ndarray) -> np.ndarray:
        """K_jj - v'A^-1 v for other points j, A the saddle matrix of the active points and v = (K_sj, Q_j)."""
        if not len(active):
            return K[others, others]
        if not self.is_definite:
            return np.full(len(others), np.nan)
        k = K[np.ix_(active, others)]
        inverse = np.linalg.pinv(self.E)
        particular = inverse.T @ Q[others].T
        x = particular + self.apply_inverse(k - self.G @ particular)
        nu = inverse @ (k - self.G @ x)
        return K[others, others] - (k * x).sum(axis=0) - (Q[others].T * nu).sum(axis=0)

    def descending_curve(self) -> np.ndarray:
        """A direction d under the constraints with the smallest d'Gd / d'd."""
        return self._to_space(eigh(self._reduced, subset_by_index=[0, 0], check_finite=False)[1][:, 0])
