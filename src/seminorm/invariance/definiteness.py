"""How far a kernel matrix is from being positive definite, and explicit ways to make it so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh, eigvalsh
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ..kernels.base import Kernel
from ..nullspace.linear_algebra import project_kernel_matrix
from ..solvers.eigenvalues import repair_signs

_METHODS = ("flip", "clip", "shift")


@dataclass(frozen=True, repr=False)
class Definiteness:
    """A report on the spectrum of a symmetric kernel matrix.

    Attributes
    ----------
    eigenvalues : array (n,)
        In ascending order; for a kernel of order 1 on the complement of the constants.
    cpd_order : int
        The order of the kernel.

    See Also
    --------
    Repair : Makes a matrix positive semi-definite.

    Examples
    --------
    >>> from seminorm.invariance import Definiteness
    >>> Definiteness.of([[0.0, 1.0], [1.0, 0.0]])
    indefinite: 1 of 2 eigenvalues negative, 50 % of the spectrum, from -1 to 1
    >>> Definiteness.of([[0.0, -1.0], [-1.0, 0.0]], cpd_order=1).is_definite
    True
    """

    eigenvalues: np.ndarray
    cpd_order: int = 0

    @classmethod
    def of(cls, K: ArrayLike, cpd_order: int = 0) -> Definiteness:
        """The report on a symmetric kernel matrix (n, n), which is centred first if the order is 1 (not 0)."""
        return cls(eigvalsh(_on_complement(_symmetric(K), cpd_order), overwrite_a=True, check_finite=False), cpd_order)

    @property
    def tolerance(self) -> float:
        """Size of the rounding errors of an eigenvalue."""
        return _rounding(self.eigenvalues)

    @property
    def n_negative(self) -> int:
        """How many eigenvalues are negative beyond rounding errors."""
        return int((self.eigenvalues < -self.tolerance).sum())

    @property
    def negative_share(self) -> float:
        """Sum of the moduli of the negative eigenvalues, as a share of the sum over all."""
        sizes = np.abs(self.eigenvalues)
        total = sizes.sum()
        return float(sizes[self.eigenvalues < -self.tolerance].sum() / total) if total > 0 else 0.0

    @property
    def is_definite(self) -> bool:
        """Whether the matrix is positive semi-definite, up to rounding errors."""
        return self.n_negative == 0

    def __repr__(self) -> str:
        where = " on the complement of the constants" if self.cpd_order else ""
        kind = "positive semi-definite" if self.is_definite else "indefinite"
        return (
            f"{kind}{where}: {self.n_negative} of {len(self.eigenvalues)} eigenvalues negative, "
            f"{100 * self.negative_share:.3g} % of the spectrum, from {self.eigenvalues[0]:.3g} to "
            f"{self.eigenvalues[-1]:.3g}"
        )


class Repair(BaseEstimator):
    """A positive semi-definite matrix in place of an indefinite kernel matrix, and rows for new patterns that match it.

    Negative eigenvalues are replaced by their moduli ("flip") or by zero ("clip"): linear maps of the rows of K, which
    also apply to rows for new patterns. "shift" adds the modulus of the smallest eigenvalue to the diagonal and leaves
    rows for new patterns as they are. With ``cpd_order=1`` all matrices are centred first, which changes nothing for
    machines with a free constant.

    Parameters
    ----------
    method : {"flip", "clip", "shift"}
        What to do with negative eigenvalues.
    cpd_order : {0, 1}
        Order of conditional positive definiteness.

    Attributes
    ----------
    matrix_ : array (n, n)
        The repaired matrix.
    negative_ : array (r,)
        The negative eigenvalues ("shift": the smallest one alone), beyond rounding errors.
    vectors_ : array (n, r)
        Their eigenvectors.

    See Also
    --------
    DefiniteRepair : The same as a transformer in a pipeline.

    Examples
    --------
    >>> from seminorm.invariance import Repair
    >>> Repair("flip").fit([[0.0, 1.0], [1.0, 0.0]]).matrix_.round(12)
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(self, method: str = "flip", cpd_order: int = 0):
        self.method, self.cpd_order = method, cpd_order

    def fit(self, K: ArrayLike, y: object = None) -> Repair:
        """Repair the symmetric matrix K (n, n); y is not used."""
        if self.method not in _METHODS:
            raise ValueError(f"method must be one of {', '.join(map(repr, _METHODS))}, got {self.method!r}.")
        given = _symmetric(K)
        self.column_means_ = given.mean(axis=0) if self.cpd_order else np.zeros(len(given))
        matrix = _on_complement(given, self.cpd_order)
        self.negative_, self.vectors_ = self._negative_part(matrix)
        if self.method == "shift":
            matrix[np.diag_indices_from(matrix)] -= self.negative_.sum()
        else:
            change = repair_signs(self.negative_, self.method) - 1.0
            matrix += (self.vectors_ * (self.negative_ * change)) @ self.vectors_.T
        self.matrix_ = 0.5 * (matrix + matrix.T)
        return self

    def _negative_part(self, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues that are negative beyond rounding errors (the smallest alone for a shift), and eigenvectors."""
        smallest_negative = -_rounding(matrix)
        if self.method == "shift":
            values, vectors = eigh(matrix, subset_by_index=(0, 0), check_finite=False)
            return values[values < smallest_negative], vectors[:, values < smallest_negative]
        if smallest_negative < 0:
            return eigh(matrix, subset_by_value=(-np.inf, smallest_negative), check_finite=False)
        return np.empty(0), np.empty((len(matrix), 0))

    def transform(self, K: ArrayLike) -> np.ndarray:
        """Rows (k, n) of the repaired kernel from rows of the kernel, for any patterns against those of ``fit``."""
        check_is_fitted(self, "matrix_")
        rows = check_array(K, dtype=np.float64, input_name="K")
        if rows.shape[1] != len(self.matrix_):
            raise ValueError(f"K must have {len(self.matrix_)} columns, one per pattern of fit, got {rows.shape[1]}.")
        if self.cpd_order:
            rows = rows - rows.mean(axis=1, keepdims=True) - self.column_means_ + self.column_means_.mean()
        if self.method == "shift":
            return rows
        change = repair_signs(self.negative_, self.method) - 1.0
        return rows + (rows @ self.vectors_ * change) @ self.vectors_.T


class DefiniteRepair(TransformerMixin, BaseEstimator):
    """Patterns to rows of a repaired kernel matrix, for machines with ``kernel="precomputed"``.

    Parameters
    ----------
    kernel : Kernel or "precomputed"
        With "precomputed" the input is the kernel matrix, for a :class:`DistanceKernel` of "precomputed" the distances.
    method : {"flip", "clip", "shift"} or None
        See :class:`Repair`; None changes nothing, "shift" only the matrix of ``fit_transform``, as a pipeline needs it.
    cpd_order : {0, 1}, optional
        That of the kernel if left out, 0 if it is precomputed.

    Attributes
    ----------
    repair_ : Repair or None
        The fitted repair.

    See Also
    --------
    Repair : The repair of a single matrix.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> from seminorm.kernels import Gaussian
    >>> from seminorm.invariance import DefiniteRepair, DistanceKernel, MinimumDistance, Shift
    >>> kernel = DistanceKernel(Gaussian(), MinimumDistance(Shift([1.0, 0.0], extent=0.5)))
    >>> X, y = [[0.0, 0.0], [0.9, 0.0], [0.0, 2.0], [0.9, 2.0]], [0, 0, 1, 1]
    >>> make_pipeline(DefiniteRepair(kernel, "flip"), SVC(kernel="precomputed")).fit(X, y).score(X, y)
    1.0
    """

    def __init__(self, kernel: Kernel | str = "precomputed", method: str | None = "flip", cpd_order: int | None = None):
        self.kernel, self.method, self.cpd_order = kernel, method, cpd_order

    def fit(self, X: ArrayLike, y: object = None) -> DefiniteRepair:
        """Repair the kernel matrix of X; y is not used."""
        self._fit(X)
        return self

    def fit_transform(self, X: ArrayLike, y: object = None) -> np.ndarray:
        """The repaired kernel matrix of X; y is not used."""
        matrix = self._fit(X)
        return matrix if self.repair_ is None else self.repair_.matrix_.copy()

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Rows of the repaired kernel for patterns X against those of ``fit``."""
        check_is_fitted(self, "n_features_in_")
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        if isinstance(self.kernel, Kernel):
            rows = self.kernel(rows, self.patterns_)
        return np.array(rows) if self.repair_ is None else self.repair_.transform(rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._takes_matrices()
        return tags

    def _fit(self, X: ArrayLike) -> np.ndarray:
        if not (isinstance(self.kernel, Kernel) or self.kernel == "precomputed"):
            raise ValueError(f"kernel must be a kernel of seminorm or 'precomputed', got {self.kernel!r}.")
        given = validate_data(self, X, dtype=np.float64)
        if self._takes_matrices() and given.shape[0] != given.shape[1]:
            raise ValueError(f"a precomputed matrix must be square in fit, got shape {given.shape}.")
        matrix = self.kernel(given) if isinstance(self.kernel, Kernel) else given
        natural = self.kernel.cpd_order if isinstance(self.kernel, Kernel) else 0
        cpd_order = natural if self.cpd_order is None else self.cpd_order
        self.patterns_ = None if self._takes_matrices() else given
        self.repair_ = None if self.method is None else Repair(self.method, cpd_order).fit(matrix)
        return matrix

    def _takes_matrices(self) -> bool:
        """Whether X is a matrix of kernel values or of distances, not of patterns."""
        return not isinstance(self.kernel, Kernel) or getattr(self.kernel, "takes_distances", False)


def _symmetric(K: ArrayLike) -> np.ndarray:
    matrix = check_array(K, dtype=np.float64, input_name="K", copy=True)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"K must be square, got shape {matrix.shape}.")
    if not np.allclose(matrix, matrix.T, rtol=1e-8, atol=1e-8 * np.abs(matrix).max()):
        apart = np.abs(matrix - matrix.T).max()
        raise ValueError(f"K must be symmetric; K and its transpose differ by up to {apart:.3g}.")
    return matrix


def _on_complement(K: np.ndarray, cpd_order: int) -> np.ndarray:
    if cpd_order not in (0, 1):
        raise ValueError(
            f"cpd_order must be 0 or 1, got {cpd_order!r}: kernels of a higher order are definite on the complement of "
            "polynomials, which patterns without coordinates do not have. Take a base kernel of order 0 or 1."
        )
    return project_kernel_matrix(K, np.ones((len(K), 1))) if cpd_order else K


def _rounding(spectrum: np.ndarray) -> float:
    """Rounding errors of the eigenvalues, from these or from the matrix: both have the same norm."""
    return float(len(spectrum) * np.finfo(float).eps * np.linalg.norm(spectrum))
