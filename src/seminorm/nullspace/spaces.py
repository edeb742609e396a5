"""Spaces of functions that the regulariser leaves free: polynomials, features the user names, and their unions."""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement, product
from math import comb

import numpy as np
from numpy.polynomial import legendre
from scipy import sparse
from scipy.linalg import lstsq
from sklearn.base import BaseEstimator, clone

from .._warnings import warn_user
from .linear_algebra import independent_columns

_MAX_DIMENSION = 20_000


class NullSpace(BaseEstimator):
    """A finite-dimensional space of functions with a basis.

    ``fit(X)`` settles what depends on the data (centre and scale); afterwards ``space(X)`` is the matrix p_j(X_i), and
    ``gradient`` and ``hessian`` its derivatives. ``first | second`` is the union (sum) of two spaces.
    """

    degree = -1  # all polynomials up to this degree are known to be in the space

    def fit(self, X, y=None) -> NullSpace:
        return self

    def __call__(self, X) -> np.ndarray:
        """Basis functions at X, shape (n, p)."""
        return self.derivative(X, 0)

    def gradient(self, X) -> np.ndarray:
        """Gradients of the basis functions, shape (n, p, d)."""
        return self.derivative(X, 1)

    def hessian(self, X) -> np.ndarray:
        """Hessians of the basis functions, shape (n, p, d, d)."""
        return self.derivative(X, 2)

    def derivative(self, X, times: int) -> np.ndarray:
        """All partial derivatives of the given order of the basis functions, shape (n, p) + (d,) * times."""
        raise TypeError(
            f"{type(self).__name__} does not define its functions: subclasses of NullSpace supply derivative(X, times)."
        )

    @property
    def resolution(self) -> float:
        """Relative size of rounding errors in the basis functions, for the decision about their rank."""
        return 1e-13

    def __or__(self, other) -> NullSpace:
        return Union(self, other) if isinstance(other, NullSpace) else NotImplemented


class Polynomials(NullSpace):
    """All polynomials up to a total degree; ``degree=-1`` is the empty space.

    The basis are products of Legendre polynomials in coordinates that are centred and scaled (by one factor, so that
    nothing depends on a rotation of the data).

    Parameters
    ----------
    degree : int
        The total degree.

    Examples
    --------
    >>> from seminorm.nullspace import Polynomials
    >>> Polynomials(1).fit([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0]])([[1.0, 0.5]]).shape
    (1, 3)
    """

    def __init__(self, degree: int = 1):
        self.degree = degree

    def fit(self, X, y=None):
        if not (isinstance(self.degree, (int, np.integer)) and self.degree >= -1):
            raise ValueError(f"degree must be an integer from -1 on, got {self.degree!r}.")
        X = _as_points(X)
        if sparse.issparse(X):
            X = _only_constants(X, self.degree)
        size = comb(X.shape[1] + self.degree, X.shape[1]) if self.degree >= 0 else 0
        if size > _MAX_DIMENSION:
            raise ValueError(
                f"the polynomials of degree {self.degree} in {X.shape[1]} variables form a space of dimension "
                f"{size}: lower the degree."
            )
        self.center_ = X.mean(axis=0)
        centred = X - self.center_
        self.scale_ = float(np.abs(centred).max(initial=0.0)) or 1.0
        # coordinates smaller than their own rounding error are zero, or a constant column would look like a feature
        self.rounding_ = 8 * np.finfo(float).eps * np.abs(X).max(axis=0, initial=0.0) / self.scale_
        return self

    @property
    def resolution(self):
        return max(1e-13, 10 * float(self.rounding_.max(initial=0.0)))

    def derivative(self, X, times):
        X = _as_points(X)
        if sparse.issparse(X):
            X = _only_constants(X, self.degree)
        coordinates = (X - self.center_) / self.scale_
        coordinates[np.abs(coordinates) < self.rounding_] = 0.0
        n, d = coordinates.shape
        terms = [
            Counter(term) for total in range(self.degree + 1) for term in combinations_with_replacement(range(d), total)
        ]
        factors = [
            [legendre.legval(coordinates, _legendre_derivative(k, t)) for k in range(self.degree + 1)]
            for t in range(times + 1)
        ]
        result = np.zeros((n, len(terms)) + (d,) * times)
        for j, term in enumerate(terms):
            for slots in product(term, repeat=times):
                if all(slots.count(axis) <= power for axis, power in term.items()):
                    column = np.ones(n)
                    for axis, power in term.items():
                        column *= factors[slots.count(axis)][power][:, axis]
                    result[(slice(None), j, *slots)] = column
        return result / self.scale_**times


class Features(NullSpace):
    """The span of features the user names (the generalised bias of seed 001).

    Parameters
    ----------
    features : callable or scikit-learn transformer
        Maps X (n, d) to features (n, p). A transformer is cloned and fitted on X.
    jacobian : callable, optional
        Maps X to the derivatives of the features (n, p, d); needed for gradients only.
    """

    def __init__(self, features, jacobian=None):
        self.features = features
        self.jacobian = jacobian

    def fit(self, X, y=None):
        X = _as_points(X)
        if hasattr(self.features, "transform"):
            self.transform_ = (
                clone(self.features).fit(X) if hasattr(self.features, "fit") else self.features
            ).transform
        elif callable(self.features):
            self.transform_ = self.features
        else:
            raise ValueError(
                "features must be a callable or a transformer that maps X (n, d) to features (n, p), got "
                f"{self.features!r}."
            )
        values = self._values(X)
        self.scale_ = np.sqrt((values**2).mean(axis=0))
        self.scale_[self.scale_ == 0] = 1.0
        return self

    def derivative(self, X, times):
        X = _as_points(X)
        if times == 0:
            return self._values(X) / self.scale_
        if times > 1 or self.jacobian is None:
            raise ValueError(
                "gradients need the derivatives of the user's features: give Features(..., jacobian=) a callable "
                "that returns (n, p, d)."
            )
        return np.asarray(self.jacobian(X), dtype=float) / self.scale_[:, None]

    def _values(self, X):
        values = self.transform_(X)
        values = np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=float)
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2 or len(values) != X.shape[0]:
            raise ValueError(
                f"features must return an array of shape (n, p) with n = {X.shape[0]}, got shape {values.shape}."
            )
        if not np.isfinite(values).all():
            raise ValueError("features returned NaN or infinite values: clean them, or impute before the null space.")
        return values


class Columns(NullSpace):
    """Linear functions of some columns of X (without the constant: join it with ``Polynomials(0) | Columns(...)``).

    Parameters
    ----------
    columns : sequence of int
        Indices of the columns that enter linearly and unpenalised.
    """

    def __init__(self, columns):
        self.columns = columns

    def fit(self, X, y=None):
        X = _as_points(X)
        columns = np.atleast_1d(np.asarray(self.columns))
        if (
            columns.ndim != 1
            or columns.dtype.kind not in "iu"
            or columns.size == 0
            or columns.min() < 0
            or columns.max() >= X.shape[1]
        ):
            raise ValueError(f"columns must be column numbers from 0 to {X.shape[1] - 1}, got {self.columns!r}.")
        self.columns_ = columns
        self.scale_ = np.sqrt((X[:, columns] ** 2).mean(axis=0))
        self.scale_[self.scale_ == 0] = 1.0
        return self

    def derivative(self, X, times):
        X = _as_points(X)
        if times == 0:
            return X[:, self.columns_] / self.scale_
        result = np.zeros((len(X), len(self.columns_)) + (X.shape[1],) * times)
        if times == 1:
            result[:, np.arange(len(self.columns_)), self.columns_] = 1.0 / self.scale_
        return result


class Union(NullSpace):
    """The sum of two spaces; functions that are in both cost nothing (their coefficients share the work)."""

    def __init__(self, first: NullSpace, second: NullSpace):
        self.first = first
        self.second = second

    @property
    def degree(self):
        return max(self.first.degree, self.second.degree)

    @property
    def resolution(self):
        return max(self.first_.resolution, self.second_.resolution)

    def fit(self, X, y=None):
        self.first_ = clone(self.first).fit(X)
        self.second_ = clone(self.second).fit(X)
        return self

    def derivative(self, X, times):
        return np.concatenate([self.first_.derivative(X, times), self.second_.derivative(X, times)], axis=1)


class Frozen(NullSpace):
    """A fitted space that stays as it is: fitting it again or cloning it changes nothing."""

    def __init__(self, space: NullSpace):
        self.space = space

    degree = property(lambda self: self.space.degree)
    resolution = property(lambda self: self.space.resolution)

    def derivative(self, X, times):
        return self.space.derivative(X, times)

    def __sklearn_clone__(self):
        return self


def null_space_for(specification, kernel, X: np.ndarray) -> NullSpace:
    """The fitted null space that an estimator's ``null_space`` argument names, checked to be large enough for the
    kernel.

    "auto" means the polynomials of the kernel's ``null_degree``, None nothing, an integer the polynomials of that
    degree, a sequence of integers the constant and these columns of X, a callable or transformer the user's features.
    """
    space = _interpret(specification, kernel).fit(X)
    needed = kernel.order - 1
    if space.degree < needed and not _contains(space, Polynomials(needed).fit(X), X):
        raise ValueError(
            f"null_space must contain the polynomials of degree {needed}, because {kernel!r} is conditionally "
            "positive definite of "
            f"order {kernel.order}, and {specification!r} does not: use null_space='auto', or join it: "
            f"Polynomials({needed}) | Features(...)."
        )
    return space


def _interpret(specification, kernel) -> NullSpace:
    if isinstance(specification, str) and specification == "auto":
        return Polynomials(kernel.null_degree)
    if specification is None:
        return Polynomials(-1)
    if isinstance(specification, NullSpace):
        return clone(specification)
    if isinstance(specification, (int, np.integer)) and not isinstance(specification, bool):
        return Polynomials(int(specification))
    if callable(specification) or hasattr(specification, "transform"):
        return Features(specification)
    if isinstance(specification, (list, tuple, np.ndarray)):
        return Polynomials(0) | Columns(specification)
    raise ValueError(
        "null_space must be 'auto', None, a degree, a list of columns, a callable or transformer, or a NullSpace "
        "such as "
        f"Polynomials(1) | Features(f), got {specification!r}."
    )


def _contains(space: NullSpace, smaller: NullSpace, X: np.ndarray) -> bool:
    """Whether, on the points X, every function of the smaller space is in the space."""
    target, basis = smaller(X), space(X)
    if basis.shape[1] == 0:
        return False
    residual = target - basis @ lstsq(basis, target)[0]
    return bool(np.abs(residual).max() < 1e-8 * max(np.abs(target).max(), 1e-300))


def identifiable(space: NullSpace, matrix: np.ndarray) -> np.ndarray | None:
    """Orthonormal combinations of the basis that the observations can tell apart, or None when that is all of them.

    ``matrix`` holds the observed functionals of the basis functions. Restricting the coefficients to these
    combinations gives the minimum-norm answer (seed 000, 6.1); a warning says that it was needed.
    """
    combinations = independent_columns(matrix, space.resolution)
    if combinations is None:
        return None
    warn_user(
        f"the null space has dimension {matrix.shape[1]}, and the data determine only {combinations.shape[1]} of "
        "its functions (points on a line or plane, constant or repeated features?): the coefficients of smallest norm "
        "are taken."
    )
    return combinations


def _as_points(X) -> np.ndarray:
    X = X if sparse.issparse(X) else np.asarray(X, dtype=float)
    if X.ndim != 2:
        raise ValueError(
            f"X must be an array of shape (n, d), got shape {X.shape}: use X.reshape(-1, 1) for a single column."
        )
    return X


def _only_constants(X, degree: int) -> np.ndarray:
    """A constant does not look at its argument, so that X may stay sparse; anything more would make it dense."""
    if degree > 0:
        raise ValueError(f"polynomials of degree {degree} of sparse X would be dense: use degree 0, or X.toarray().")
    return np.zeros((X.shape[0], 1))


def _legendre_derivative(k: int, times: int) -> np.ndarray:
    return legendre.legder([0.0] * k + [1.0], times)
