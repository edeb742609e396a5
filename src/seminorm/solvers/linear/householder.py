"""Blocks of Householder reflections Q = I - V T V', applied to vectors and, from both sides, to symmetric matrices in
place.

The large products here go through SciPy's BLAS alone: NumPy's wheels bring a second one, and the threads of the two,
waiting for work in turn, take the cores from each other.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, qr


class Reflectors:
    """The orthogonal matrix Q = I - V T V' of size n, with V (n, k) and T (k, k) upper triangular."""

    def __init__(self, V: np.ndarray, T: np.ndarray):
        self.V, self.T = V, T

    @classmethod
    def triangularize(cls, columns: np.ndarray) -> tuple[Reflectors, np.ndarray]:
        """Q and R (k, p) with Q' columns = [R; 0] and R upper triangular, k = min(n, p)."""
        (packed, tau), R = qr(columns, mode="raw", check_finite=False)
        k = len(tau)
        V = np.asfortranarray(np.tril(packed[:, :k], -1))
        V[np.arange(k), np.arange(k)] = 1.0
        overlaps = blas.dgemm(1.0, V, V, trans_a=1)
        T = np.zeros((k, k), order="F")
        for j in range(k):
            T[j, j] = tau[j]
            T[:j, j] = -tau[j] * (T[:j, :j] @ overlaps[:j, j])
        return cls(V, T), R[:k]

    def apply(self, B: np.ndarray) -> np.ndarray:
        """Q B."""
        return B - self.V @ (self.T @ (self.V.T @ B))

    def apply_transposed(self, B: np.ndarray) -> np.ndarray:
        """Q' B."""
        return B - self.V @ (self.T.T @ (self.V.T @ B))

    def sandwich(self, S: np.ndarray, skip: int = 0) -> None:
        """S <- Q' S Q in place; Q acts on the rows and columns from ``skip`` on.

        S is Fortran-contiguous and only its lower triangle is read and written: one dsymm and one dsyr2k, both
        level-3 BLAS.
        """
        V = np.zeros((len(S), self.V.shape[1]), order="F")
        V[skip:] = self.V
        Y = blas.dgemm(1.0, blas.dsymm(1.0, S, V, lower=1), self.T)
        core = blas.dgemm(1.0, self.T, blas.dgemm(1.0, V, Y, trans_a=1), trans_a=1)
        W = blas.dgemm(-0.5, V, core, beta=1.0, c=Y, overwrite_c=1)
        result = blas.dsyr2k(-1.0, V, W, beta=1.0, c=S, lower=1, overwrite_c=1)
        if not np.shares_memory(result, S):
            raise ValueError("S must be a Fortran-contiguous float64 array for the update in place.")


def lower_symmetric(block: np.ndarray) -> np.ndarray:
    """The full symmetric matrix whose lower triangle is given."""
    return np.tril(block) + np.tril(block, -1).T
