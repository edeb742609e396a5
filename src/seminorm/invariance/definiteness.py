"""How far a kernel matrix is from being positive definite, and explicit ways to make it so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, eigvalsh
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ..kernels.base import Kernel
from ..nullspace.linear_algebra import project_kernel_matrix

_METHODS = ("flip", "clip", "shift")


@dataclass(frozen=True, repr=False)
class Definiteness:
    """The spectrum of a symmetric kernel matrix, as a report.

    Attributes
    ----------
    eigenvalues : array (n,)
        In ascending order; for a kernel of order 1 those of the centred matrix, which is the kernel on the complement
        of the constants.
    order : int
        The order of the kernel.

    Examples
    --------
    >>> from seminorm.invariance import Definiteness
    >>> Definiteness.of([[0.0, 1.0], [1.0, 0.0]])
    indefinite: 1 of 2 eigenvalues negative, 50 % of the spectrum, from -1 to 1
    >>> Definiteness.of([[0.0, -1.0], [-1.0, 0.0]], order=1).is_definite
    True
    """

    eigenvalues: np.ndarray
    order: int = 0

    @classmethod
    def of(cls, K, order: int = 0) -> Definiteness:
        """The report on a symmetric matrix K (n, n); with order 1 it is centred first."""
        return cls(eigvalsh(_on_complement(_symmetric(K), order), overwrite_a=True, check_finite=False), order)

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
        """Sum of the sizes of the negative eigenvalues, as a part of the sum over all."""
        sizes = np.abs(self.eigenvalues)
        total = sizes.sum()
        return float(sizes[self.eigenvalues < -self.tolerance].sum() / total) if total > 0 else 0.0

    @property
    def is_definite(self) -> bool:
        """Whether the matrix is positive semi-definite, up to rounding errors."""
        return self.n_negative == 0

    def __repr__(self):
        where = " on the complement of the constants" if self.order else ""
        kind = "positive semi-definite" if self.is_definite else "indefinite"
        return (
            f"{kind}{where}: {self.n_negative} of {len(self.eigenvalues)} eigenvalues negative, "
            f"{100 * self.negative_share:.3g} % of the spectrum, from {self.eigenvalues[0]:.3g} to "
            f"{self.eigenvalues[-1]:.3g}"
        )


class Repair(BaseEstimator):
    """The nearest way to a positive semi-definite kernel matrix, and to rows for new patterns that fit to it.

    With K = V L V' the eigenvectors of negative eigenvalues are turned around ("flip": |L|) or removed ("clip":
    max(L, 0)): linear maps of the rows of K, which are then done with rows for new patterns as well. "shift" adds the
    size of the smallest eigenvalue to the diagonal, and leaves rows for new patterns as they are. With ``order=1`` all
    matrices are centred first, which changes nothing for machines with a free constant.

    Parameters
    ----------
    method : {"flip", "clip", "shift"}
    order : {0, 1}
        Of conditional definiteness.

    Attributes
    ----------
    matrix_ : array (n, n)
        The repaired matrix.
    negative_ : array (r,)
        The negative eigenvalues ("shift": the smallest one alone), beyond rounding errors.
    vectors_ : array (n, r)
        Their eigenvectors.

    Examples
    --------
    >>> from seminorm.invariance import Repair
    >>> Repair("flip").fit([[0.0, 1.0], [1.0, 0.0]]).matrix_.round(12)
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(self, method: str = "flip", order: int = 0):
        self.method = method
        self.order = order

    def fit(self, K, y=None) -> Repair:
        """Repair the symmetric matrix K (n, n)."""
        if self.method not in _METHODS:
            raise ValueError(f"method must be one of {', '.join(map(repr, _METHODS))}, got {self.method!r}.")
        K = _symmetric(K)
        self.column_means_ = K.mean(axis=0) if self.order else np.zeros(len(K))
        K = _on_complement(K, self.order)
        smallest_negative = -_rounding(K)
        if self.method == "shift":
            values, vectors = eigh(K, subset_by_index=(0, 0), check_finite=False)
            values, vectors = values[values < smallest_negative], vectors[:, values < smallest_negative]
        elif smallest_negative < 0:
            values, vectors = eigh(K, subset_by_value=(-np.inf, smallest_negative), check_finite=False)
        else:
            values, vectors = np.empty(0), np.empty((len(K), 0))
        self.negative_, self.vectors_ = values, vectors
        if self.method == "shift":
            K[np.diag_indices_from(K)] -= values.sum()
        else:
            K -= self._times() * (vectors * values) @ vectors.T
        self.matrix_ = 0.5 * (K + K.T)
        return self

    def transform(self, K) -> np.ndarray:
        """Rows (k, n) of the repaired kernel from rows of the kernel, for any patterns against those of ``fit``."""
        check_is_fitted(self, "matrix_")
        K = check_array(K, dtype=np.float64, input_name="K")
        if K.shape[1] != len(self.matrix_):
            raise ValueError(f"K must have {len(self.matrix_)} columns, one for each pattern of fit, got {K.shape[1]}.")
        if self.order:
            K = K - K.mean(axis=1, keepdims=True) - self.column_means_ + self.column_means_.mean()
        if self.method == "shift":
            return K
        return K - self._times() * (K @ self.vectors_) @ self.vectors_.T

    def _times(self) -> float:
        return {"flip": 2.0, "clip": 1.0}[self.method]


class DefiniteRepair(TransformerMixin, BaseEstimator):
    """Patterns to rows of a repaired kernel matrix, for machines with ``kernel="precomputed"``.

    Parameters
    ----------
    kernel : Kernel or "precomputed"
        With "precomputed" the input is the kernel matrix itself. A :class:`DistanceKernel` of "precomputed" distances
        takes matrices of distances.
    method : {"flip", "clip", "shift"} or None
        See :class:`Repair`; None leaves the matrix alone. "shift" only acts on the matrix of ``fit_transform``, as it
        must in a pipeline; ``transform`` gives rows without it.
    order : {0, 1}, optional
        Of conditional definiteness; the kernel's if left out (0 if it is precomputed).

    Attributes
    ----------
    repair_ : Repair or None

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

    def __init__(self, kernel: Kernel | str = "precomputed", method: str | None = "flip", order: int | None = None):
        self.kernel = kernel
        self.method = method
        self.order = order

    def fit(self, X, y=None) -> DefiniteRepair:
        """Repair the kernel matrix of X."""
        self._fit(X)
        return self

    def fit_transform(self, X, y=None) -> np.ndarray:
        """The repaired kernel matrix of X."""
        matrix = self._fit(X)
        return matrix if self.repair_ is None else self.repair_.matrix_.copy()

    def transform(self, X) -> np.ndarray:
        """Rows of the repaired kernel for patterns X against those of ``fit``."""
        check_is_fitted(self, "n_features_in_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        rows = X if self._given() else self.kernel(X) if self._takes_distances() else self.kernel(X, self.patterns_)
        return np.array(rows) if self.repair_ is None else self.repair_.transform(rows)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._given() or self._takes_distances()
        return tags

    def _fit(self, X) -> np.ndarray:
        if not (self._given() or isinstance(self.kernel, Kernel)):
            raise ValueError(f"kernel must be a kernel of seminorm or 'precomputed', got {self.kernel!r}.")
        X = validate_data(self, X, dtype=np.float64)
        if (self._given() or self._takes_distances()) and X.shape[0] != X.shape[1]:
            raise ValueError(f"a precomputed matrix must be square in fit, got shape {X.shape}.")
        matrix = X if self._given() else self.kernel(X)
        order = (0 if self._given() else self.kernel.order) if self.order is None else self.order
        self.patterns_ = None if self._given() or self._takes_distances() else X
        self.repair_ = None if self.method is None else Repair(self.method, order).fit(matrix)
        return matrix

    def _given(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _takes_distances(self) -> bool:
        return getattr(self.kernel, "takes_distances", False)


def _symmetric(K) -> np.ndarray:
    K = check_array(K, dtype=np.float64, input_name="K", copy=True)
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"K must be square, got shape {K.shape}.")
    if not np.allclose(K, K.T, rtol=1e-8, atol=1e-8 * np.abs(K).max()):
        raise ValueError(f"K must be symmetric; K and its transpose differ by up to {np.abs(K - K.T).max():.3g}.")
    return K


def _on_complement(K: np.ndarray, order: int) -> np.ndarray:
    if order not in (0, 1):
        raise ValueError(
            f"order must be 0 or 1, got {order!r}: kernels of a higher order are definite on the complement of "
            "polynomials, which patterns without coordinates do not have. Take a base kernel of order 0 or 1."
        )
    return project_kernel_matrix(K, np.ones((len(K), 1))) if order else K


def _rounding(spectrum: np.ndarray) -> float:
    """Rounding errors of the eigenvalues, from these or from the matrix: both have the same norm."""
    return float(len(spectrum) * np.finfo(float).eps * np.linalg.norm(spectrum))
