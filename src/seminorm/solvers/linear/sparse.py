"""Factors of sparse symmetric matrices."""

from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, onenormest, splu


class Factors:
    """The factors of a symmetric sparse matrix."""

    def __init__(self, matrix: sparse.sparray):
        options = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
        self._factors = splu(sparse.csc_array(matrix), **options)
        self.solve = self._factors.solve

    def __call__(self, right: np.ndarray) -> np.ndarray:
        """The inverse, applied to a right-hand side or to several columns."""
        return self.solve(right)

    def log_determinant(self) -> float:
        """The logarithm of the determinant, without its sign."""
        return float(np.log(np.abs(self._factors.U.diagonal())).sum())


def factorize(matrix: sparse.sparray) -> Factors:
    """Factors of a symmetric sparse matrix: a function that applies its inverse.

    RuntimeError is raised if the matrix is exactly singular.
    """
    return Factors(matrix)


def reciprocal_condition(matrix: sparse.sparray, solve: Callable[[np.ndarray], np.ndarray]) -> float:
    """One over the condition of a symmetric matrix in the 1-norm, estimated with the help of its inverse."""
    inverse = LinearOperator(matrix.shape, matvec=solve, rmatvec=solve)
    return float(1.0 / (abs(matrix).sum(axis=0).max() * onenormest(inverse)))
