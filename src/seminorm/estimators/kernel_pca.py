"""Principal components in the feature space of a kernel of any kind."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._base import blas as threads
from .._base.patterns import is_plain
from ..kernels import Kernel, NegativeDistance
from ..solvers.eigenvalues import signed_spectrum
from .base import KernelMachine, Samples
from .smoother import Smoother


class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelMachine):
    """Coordinates along the directions of largest variance in feature space.

    The eigenvectors v_j and eigenvalues of Pi K Pi give the coordinates of the training points, sqrt|eigenvalue_j|
    v_j, and those of a new point by its kernel values. Pi projects the constant out, which centres the images of the
    points. A conditionally positive definite kernel of order 1 is thus as good as a positive definite one. For
    kernels of higher order Pi projects out the polynomials of the kernel's null space on the training points (with
    the thin plate the linear functions as well as the constant), because the kernel is definite only beside these.

    An indefinite kernel has negative eigenvalues, too. They are kept: components are sorted by the modulus of their
    eigenvalue, and the coordinates Z are those of a pseudo-Euclidean space, Pi K Pi = Z diag(sign(eigenvalues_)) Z'.

    Parameters
    ----------
    kernel : Kernel or "precomputed", optional
        ``NegativeDistance()`` if left out. For "precomputed" X is the kernel matrix; the constant is projected out.
    n_components : int, optional
        How many components to keep; all with an eigenvalue other than zero if left out.
    metric : {None, "standardize"}
        Units of the columns of X: as they are, or their standard deviations.

    Attributes
    ----------
    eigenvalues_, eigenvectors_ : arrays (n_components,) and (n, n_components)
        By descending modulus, with their signs. The first of the largest entries of each eigenvector is positive.
    explained_variance_, explained_variance_ratio_ : arrays (n_components,)
        Variance of the training points along the components, and its share of the whole.
    function_ : Expansion
        The components as functions, with gradients where the kernel has them.

    See Also
    --------
    KernelNeighbors, EnclosingHypersphere

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import KernelPCA
    >>> from seminorm.kernels import Gaussian
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> KernelPCA(Gaussian(2.0), n_components=2).fit_transform(X).shape
    (50, 2)
    """

    def __init__(self, kernel: Kernel | str | None = None, n_components: int | None = None, metric: str | None = None):
        self.kernel, self.n_components, self.metric = kernel, n_components, metric

    def fit(self, X: ArrayLike, y: object = None) -> KernelPCA:
        """Find the components of the rows of X, or of the training points with the kernel matrix X."""
        count = self.n_components
        if count is not None and not (isinstance(count, Integral) and count > 0):
            raise ValueError(f"n_components must be a positive integer or None, got {count!r}.")
        points = self._check_input(X, ensure_min_samples=2)
        n = points.shape[0]
        samples = Samples(points, np.zeros(n, dtype=int), np.ones(n), np.arange(n))
        self._settle(samples)
        with threads.suited_to(points.shape[0]):
            degree = 0 if self._is_given() else max(self.kernel_.null_degree, 0)
            machine = self._beside_polynomials(points, degree)
            projected = machine.definite_part()
            values, vectors = signed_spectrum(projected, machine.rounding, count)
        total = float(np.trace(projected))
        count = int(np.count_nonzero(values)) if count is None else min(count, len(values))
        self.eigenvalues_, self.eigenvectors_ = values[:count], vectors[:, :count]
        scaled = self.eigenvectors_ * (np.sign(self.eigenvalues_) / np.sqrt(_nonzero(np.abs(self.eigenvalues_))))
        self._keep(samples, *machine.functions(scaled, filled=False))
        self.explained_variance_ = self.eigenvalues_ / points.shape[0]
        self.explained_variance_ratio_ = self.eigenvalues_ / total if total > 0 else np.zeros(len(self.eigenvalues_))
        self.X_fit_ = points
        self._inverse: Smoother | None = None
        return self

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Coordinates (m, n_components) of the rows of X."""
        return self._values(self._check_points(X))

    def fit_transform(self, X: ArrayLike, y: object = None) -> np.ndarray:
        """Coordinates (n, n_components) of the training points."""
        self.fit(X)
        return self.eigenvectors_ * np.sqrt(np.abs(self.eigenvalues_))

    def inverse_transform(self, Z: ArrayLike) -> np.ndarray:
        """Points (m, d) whose coordinates are nearly Z (m, n_components).

        Not every Z is the image of a point: the map back is smoothed through the training points, which it meets as
        far as the coordinates tell them apart. It is learned when first asked for.
        """
        check_is_fitted(self)
        if self._is_given() or not is_plain(self.X_fit_):
            raise ValueError("inverse_transform needs points: it is not for a given matrix, sparse X or patterns.")
        inverse: Smoother | None = getattr(self, "_inverse", None)
        if inverse is None:
            coordinates = self.eigenvectors_ * np.sqrt(np.abs(self.eigenvalues_))
            self._inverse = inverse = Smoother(NegativeDistance()).fit(coordinates, self.X_fit_)
        return inverse.predict(Z).reshape(-1, self.X_fit_.shape[1])

    def __getstate__(self):
        return {**super().__getstate__(), "_inverse": None}

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)


def _nonzero(values: np.ndarray) -> np.ndarray:
    return np.where(values > 0, values, 1.0)
