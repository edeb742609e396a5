"""Factors of sparse symmetric matrices."""

from collections.abc import Callable

import numpy as np
from scipy import linalg, sparse
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


class BandFactors:
    """The Cholesky factor of a positive definite matrix, as a band."""

    def __init__(self, matrix: sparse.sparray):
        entries = sparse.coo_array(sparse.csc_array(matrix))  # each entry once
        offsets = entries.row - entries.col
        lower = offsets >= 0
        band = np.zeros((int(offsets.max(initial=0)) + 1, matrix.shape[0]))
        band[offsets[lower], entries.col[lower]] = entries.data[lower]
        self._factor = linalg.cholesky_banded(band, lower=True, overwrite_ab=True, check_finite=False)

    def solve(self, right: np.ndarray) -> np.ndarray:
        """The inverse, applied to a right-hand side or to several columns."""
        return linalg.cho_solve_banded((self._factor, True), right, check_finite=False)

    def log_determinant(self) -> float:
        """The logarithm of the determinant."""
        return 2.0 * float(np.log(self._factor[0]).sum())


def factorize_band(matrix: sparse.sparray) -> BandFactors | Factors:
    """Factors of a positive definite matrix of a small grid, row by row: for up to some ten thousand unknowns of a
    plane several times faster than :func:`factorize`, which takes over where rounding makes the matrix indefinite.
    """  # fmt: skip
    try:
        return BandFactors(matrix)
    except np.linalg.LinAlgError:
        return factorize(matrix)


def factorize(matrix: sparse.sparray) -> Factors:
    """Factors of a symmetric sparse matrix: a function that applies its inverse.

    RuntimeError is raised if the matrix is exactly singular.
    """
    return Factors(matrix)


def reciprocal_condition(matrix: sparse.sparray, solve: Callable[[np.ndarray], np.ndarray]) -> float:
    """One over the condition of a symmetric matrix in the 1-norm, estimated with the help of its inverse."""
    inverse = LinearOperator(matrix.shape, matvec=solve, rmatvec=solve)
    return float(1.0 / (abs(matrix).sum(axis=0).max() * onenormest(inverse)))
