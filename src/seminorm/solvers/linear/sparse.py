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
    """The Cholesky factor of a positive definite matrix, given by the diagonals of its lower triangle."""

    def __init__(self, band: np.ndarray):
        self._factor = linalg.cholesky_banded(band, lower=True, overwrite_ab=True, check_finite=False)

    def solve(self, right: np.ndarray) -> np.ndarray:
        """The inverse, applied to a right-hand side or to several columns."""
        return linalg.cho_solve_banded((self._factor, True), right, check_finite=False)

    def log_determinant(self) -> float:
        """The logarithm of the determinant."""
        return 2.0 * float(np.log(self._factor[0]).sum())


class BandPattern:
    """The sparsity of symmetric matrices that are added and factorized often, each given by the ``entries`` of its
    lower triangle: an array, so that sums of matrices are sums of arrays.
    """

    def __init__(self, matrix: sparse.sparray):
        self.size = matrix.shape[0]
        self._keys = _lower(matrix)[0]
        self._columns, self._rows = np.divmod(self._keys, self.size)
        self._diagonal = np.flatnonzero(self._rows == self._columns)
        offsets = self._rows - self._columns
        self._shape = (int(offsets.max(initial=0)) + 1, self.size)
        self._places = offsets * self.size + self._columns

    def entries(self, matrix: sparse.sparray) -> np.ndarray:
        """Those of a matrix without others."""
        keys, data = _lower(matrix)
        entries = np.zeros(len(self._keys))
        entries[np.searchsorted(self._keys, keys)] = data
        return entries

    def diagonal(self, entries: np.ndarray) -> np.ndarray:
        """The diagonal of a matrix whose diagonal belongs to the pattern."""
        return entries[self._diagonal]

    def minor(self, entries: np.ndarray, left_out: np.ndarray) -> np.ndarray:
        """A matrix with the rows and columns ``left_out`` of the identity: its determinant is that of the others."""
        is_out = np.zeros(self.size, dtype=bool)
        is_out[left_out] = True
        minor = np.where(is_out[self._rows] | is_out[self._columns], 0.0, entries)
        minor[self._diagonal[left_out]] = 1.0
        return minor

    def factorize(self, entries: np.ndarray) -> BandFactors | Factors:
        """Factors of a positive definite matrix of a small grid, row by row: for up to some ten thousand unknowns of a
        plane several times faster than :func:`factorize`, which takes over where rounding makes the matrix indefinite.
        """  # fmt: skip
        band = np.zeros(self._shape)
        band.flat[self._places] = entries
        try:
            return BandFactors(band)
        except np.linalg.LinAlgError:
            lower = sparse.coo_array((entries, (self._rows, self._columns)), shape=(self.size, self.size))
            return factorize(lower + sparse.tril(lower, -1).T)


def _lower(matrix: sparse.sparray) -> tuple[np.ndarray, np.ndarray]:
    """Places in the lower triangle, column * size + row in ascending order, and the entries there."""
    lower = sparse.csc_array(sparse.tril(matrix))
    lower.sum_duplicates()
    columns = np.repeat(np.arange(lower.shape[0], dtype=np.int64), np.diff(lower.indptr))
    return columns * lower.shape[0] + lower.indices, lower.data


def factorize(matrix: sparse.sparray) -> Factors:
    """Factors of a symmetric sparse matrix: a function that applies its inverse.

    RuntimeError is raised if the matrix is exactly singular.
    """
    return Factors(matrix)


def reciprocal_condition(matrix: sparse.sparray, solve: Callable[[np.ndarray], np.ndarray]) -> float:
    """One over the condition of a symmetric matrix in the 1-norm, estimated with the help of its inverse."""
    inverse = LinearOperator(matrix.shape, matvec=solve, rmatvec=solve)
    return float(1.0 / (abs(matrix).sum(axis=0).max() * onenormest(inverse)))
