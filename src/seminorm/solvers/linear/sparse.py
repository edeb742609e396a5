"""Factors of sparse symmetric matrices."""

from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, onenormest, splu


def factorize(matrix: sparse.sparray) -> Callable[[np.ndarray], np.ndarray]:
    """The inverse of a symmetric sparse matrix, as a function of a right-hand side or of several columns.

    RuntimeError is raised if the matrix is exactly singular.
    """
    options = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
    return splu(sparse.csc_array(matrix), **options).solve


def reciprocal_condition(matrix: sparse.sparray, solve: Callable[[np.ndarray], np.ndarray]) -> float:
    """One over the condition of a symmetric matrix in the 1-norm, estimated with the help of its inverse."""
    inverse = LinearOperator(matrix.shape, matvec=solve, rmatvec=solve)
    return float(1.0 / (abs(matrix).sum(axis=0).max() * onenormest(inverse)))
