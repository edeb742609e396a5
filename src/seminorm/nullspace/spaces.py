"""Spaces of functions that the regulariser leaves free: polynomials, features the user names, and their unions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations_with_replacement, product
from math import comb
from typing import Any, Self

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import clone

from .._base.parameters import Parametrized
from .._base.patterns import as_points, is_plain
from .._base.warnings import warn_user
from ..kernels.base import as_in
from ..kernels.dot_product import checked_features
from .linear_algebra import independent_columns

_MAX_DIMENSION = 20_000
_OFF_SPAN = 1e-6


class NullSpace(Parametrized):
    """A finite-dimensional space of functions with a basis.

    ``fit(X)`` settles what depends on the data (centre and scale); afterwards ``space(X)`` is the matrix p_j(X_i), and
    ``gradient`` and ``hessian`` its derivatives. ``first | second`` is the union (sum) of two spaces. A new space
    supplies ``derivative(X, times)``, and ``fit`` if it depends on the data.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.nullspace import NullSpace, Polynomials
    >>> class Exponential(NullSpace):
    ...     def derivative(self, X: Any, times: int) -> np.ndarray:
    ...         return np.exp(X).reshape(len(X), 1, *(1,) * times)
    >>> (Polynomials(0) | Exponential()).fit([[0.0], [1.0]])([[0.0], [1.0]]).round(3)
    array([[1.   , 1.   ],
           [1.   , 2.718]])

    See Also
    --------
    Polynomials, Columns, Features : the spaces of the library.
    all_null_spaces : their registry.
    """

    @property
    def degree(self) -> int:
        """All polynomials up to this degree are known to be in the space; -1 if none are."""
        return -1

    def fit(self, X: Any, y: object = None) -> Self:
        """Settle what depends on the data; most spaces ignore ``y``."""
        return self

    def __call__(self, X: Any) -> np.ndarray:
        """Basis functions at X, shape (n, p)."""
        return self.derivative(X, 0)

    def training_matrix(self, X: Any, y: object = None) -> np.ndarray:
        """Basis functions at the points and targets that the space was fitted on, for training a machine beside them.

        The same as ``space(X)``, unless the functions have seen the targets: see :class:`CrossFitted`.
        """
        return self(X)

    def gradient(self, X: Any) -> np.ndarray:
        """Gradients of the basis functions, shape (n, p, d)."""
        return self.derivative(X, 1)

    def hessian(self, X: Any) -> np.ndarray:
        """Hessians of the basis functions, shape (n, p, d, d)."""
        return self.derivative(X, 2)

    def derivative(self, X: Any, times: int) -> np.ndarray:
        """All partial derivatives of the given order of the basis functions, shape (n, p) + (d,) * times."""
        raise TypeError(f"{type(self).__name__} does not define its functions: subclasses supply derivative(X, times).")

    @property
    def resolution(self) -> float:
        """Relative size of rounding errors in the basis functions, for the decision about their rank."""
        return 1e-13

    def __or__(self, other: NullSpace) -> NullSpace:
        return UnionSpace(self, other) if isinstance(other, NullSpace) else NotImplemented


class Polynomials(NullSpace):
    """All polynomials up to a total degree; ``degree=-1`` is the empty space.

    The basis are products of Legendre polynomials in coordinates that are centred and scaled, by one factor for all.

    Parameters
    ----------
    degree : int

    See Also
    --------
    Columns, Features

    Examples
    --------
    >>> from seminorm.nullspace import Polynomials
    >>> Polynomials(1).fit([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0]])([[1.0, 0.5]]).shape
    (1, 3)
    """

    degree: int = 1

    def __init__(self, degree: int = 1):
        self.degree = degree

    def fit(self, X: Any, y: object = None) -> Self:
        if not (isinstance(self.degree, (int, np.integer)) and self.degree >= -1):
            raise ValueError(f"degree must be an integer from -1 on, got {self.degree!r}.")
        X = self._dense_points(X)
        size = comb(X.shape[1] + self.degree, X.shape[1]) if self.degree >= 0 else 0
        if size > _MAX_DIMENSION:
            raise ValueError(
                f"the polynomials of degree {self.degree} in {X.shape[1]} variables form a space of dimension "
                f"{size}: lower the degree."
            )
        self.center_ = X.mean(axis=0)
        centered = X - self.center_
        self.scale_ = float(np.abs(centered).max(initial=0.0)) or 1.0
        # coordinates smaller than their own rounding error are zero, or a constant column would look like a feature
        self.rounding_ = 8 * np.finfo(float).eps * np.abs(X).max(axis=0, initial=0.0) / self.scale_
        return self

    def _dense_points(self, X: Any) -> np.ndarray:
        """A constant does not look at its argument, so X may be sparse; anything more would make it dense."""
        X = _as_points(X)
        if is_plain(X):
            return X
        if self.degree > 0:
            raise ValueError(
                f"polynomials of degree {self.degree} of sparse X are dense: use degree 0, or X.toarray()."
                if sparse.issparse(X)
                else f"polynomials of degree {self.degree} need points (n, d), and X is a {X!r}: leave the constant "
                "free (degree 0), or name features of the patterns by null_space=Features(f)."
            )
        return np.zeros((X.shape[0], 1))

    @property
    def resolution(self) -> float:
        return max(1e-13, 10 * float(self.rounding_.max(initial=0.0)))

    def derivative(self, X: Any, times: int) -> np.ndarray:
        X = self._dense_points(X)
        coordinates = (X - self.center_) / self.scale_
        coordinates[np.abs(coordinates) < self.rounding_] = 0.0
        n, d = coordinates.shape
        terms = [
            Counter(term) for total in range(self.degree + 1) for term in combinations_with_replacement(range(d), total)
        ]
        factors = [
            [legendre.legval(coordinates, legendre.legder([0.0] * k + [1.0], t)) for k in range(self.degree + 1)]
            for t in range(times + 1)
        ]
        result = np.zeros((n, len(terms)) + (d,) * times)
        for j, term in enumerate(terms):
            for slots in product(term, repeat=times):
                if all(slots.count(axis) <= power for axis, power in term.items()):
                    column = np.ones(n)
                    for axis, power in term.items():
                        column *= factors[slots.count(axis)][power][:, axis]
                    place: tuple[Any, ...] = (slice(None), j, *slots)
                    result[place] = column
        return result / self.scale_**times


class Features(NullSpace):
    """The span of features the user names (the generalised bias of [Li et al. 2007]).

    Parameters
    ----------
    features : callable or transformer
        Maps X (n, d) to features (n, p); a transformer is cloned and fitted on X and, where the estimator has targets,
        on y. Features that learn much from y look better in training than they are: see :class:`CrossFitted`.
    jacobian : callable, optional
        Maps X to the derivatives of the features (n, p, d); needed for gradients only.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.nullspace import Features
    >>> Features(np.exp).fit([[0.0], [1.0]])([[0.0], [1.0]]).shape
    (2, 1)

    See Also
    --------
    seminorm.kernels.FeatureMap : features that are penalised.
    """

    def __init__(self, features: Any, jacobian: Callable[[np.ndarray], Any] | None = None):
        self.features, self.jacobian = features, jacobian

    def fit(self, X: Any, y: object = None) -> Self:
        X = _as_points(X)
        self.transformer_ = None
        if hasattr(self.features, "transform"):
            self.transformer_ = clone(self.features).fit(X, y) if hasattr(self.features, "fit") else self.features
        elif not callable(self.features):
            raise ValueError(
                "features must be a callable or a transformer that maps X (n, d) to features (n, p), got "
                f"{self.features!r}."
            )
        self.scale_ = _root_mean_squares(self._values(X))
        return self

    def derivative(self, X: Any, times: int) -> np.ndarray:
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
        values = self.features(X) if self.transformer_ is None else self.transformer_.transform(X)
        values = np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=float)
        values = checked_features(values[:, None] if values.ndim == 1 else values, X)
        if not np.isfinite(values).all():
            raise ValueError("features returned NaN or infinite values: clean them, or impute before the null space.")
        return values


class Columns(NullSpace):
    """Linear functions of some columns of X (without the constant: join it with ``Polynomials(0) | Columns(...)``).

    Parameters
    ----------
    columns : sequence of int
        Indices of the columns that enter linearly and unpenalised.

    See Also
    --------
    Polynomials, Features

    Examples
    --------
    >>> from seminorm.nullspace import Columns, Polynomials
    >>> X = [[0.0, 7.0], [1.0, 8.0]]
    >>> (Polynomials(0) | Columns([1])).fit(X)(X).round(2)
    array([[1.  , 0.93],
           [1.  , 1.06]])
    """

    def __init__(self, columns: ArrayLike):
        self.columns: Any = columns

    def fit(self, X: Any, y: object = None) -> Self:
        X = _as_points(X)
        columns = np.atleast_1d(np.asarray(self.columns))
        numbers = columns.ndim == 1 and columns.size > 0 and columns.dtype.kind in "iu"
        if not numbers or columns.min() < 0 or columns.max() >= X.shape[1]:
            raise ValueError(f"columns must be column numbers from 0 to {X.shape[1] - 1}, got {self.columns!r}.")
        self.columns_ = columns
        self.scale_ = _root_mean_squares(X[:, columns])
        return self

    def derivative(self, X: Any, times: int) -> np.ndarray:
        X = _as_points(X)
        if times == 0:
            return X[:, self.columns_] / self.scale_
        result = np.zeros((len(X), len(self.columns_)) + (X.shape[1],) * times)
        if times == 1:
            result[:, np.arange(len(self.columns_)), self.columns_] = 1.0 / self.scale_
        return result


class UnionSpace(NullSpace):
    """The sum of two spaces; functions that are in both cost nothing (their coefficients share the work).

    Parameters
    ----------
    first, second : NullSpace

    See Also
    --------
    Polynomials, Features

    Examples
    --------
    >>> from seminorm.nullspace import Columns, Polynomials
    >>> (Polynomials(0) | Columns([0])).degree
    0
    """

    def __init__(self, first: NullSpace, second: NullSpace):
        self.first, self.second = first, second

    @property
    def degree(self) -> int:
        return max(self.first.degree, self.second.degree)

    @property
    def resolution(self) -> float:
        return max(self.first_.resolution, self.second_.resolution)

    def fit(self, X: Any, y: object = None) -> Self:
        self.first_, self.second_ = clone(self.first).fit(X, y), clone(self.second).fit(X, y)
        return self

    def training_matrix(self, X: Any, y: object = None) -> np.ndarray:
        return np.hstack([self.first_.training_matrix(X, y), self.second_.training_matrix(X, y)])

    def derivative(self, X: Any, times: int) -> np.ndarray:
        return np.concatenate([self.first_.derivative(X, times), self.second_.derivative(X, times)], axis=1)


@as_in("space", "degree", "resolution")
class Frozen(NullSpace):
    """A fitted space that stays as it is: fitting it again or cloning it changes nothing.

    Parameters
    ----------
    space : NullSpace
        Fitted.

    See Also
    --------
    NullSpace

    Examples
    --------
    >>> from seminorm.nullspace import Frozen, Polynomials
    >>> space = Frozen(Polynomials(1).fit([[0.0], [1.0]]))
    >>> space.fit([[5.0], [9.0]])([[0.0], [1.0]])
    array([[ 1., -1.],
           [ 1.,  1.]])
    """

    def __init__(self, space: NullSpace):
        self.space = space

    def derivative(self, X: Any, times: int) -> np.ndarray:
        return self.space.derivative(X, times)

    def __sklearn_clone__(self) -> Self:
        return self


def identifiable(space: NullSpace, matrix: np.ndarray, warn: bool = True) -> np.ndarray | None:
    """Orthonormal combinations of the basis that the observations can tell apart, or None when that is all of them.

    With these the answer has minimum norm [Walder and Chapelle 2007, 6.1].

    Parameters
    ----------
    space : NullSpace
    matrix : array (n, p)
        The observed functionals of the basis functions.
    warn : bool
        Whether to say that they were needed.

    Returns
    -------
    array (p, r) or None

    See Also
    --------
    independent_columns

    Examples
    --------
    >>> from seminorm.nullspace import Polynomials, identifiable
    >>> space = Polynomials(1).fit([[0.0], [1.0]])
    >>> identifiable(space, space([[0.0], [1.0]])) is None
    True
    """
    combinations = independent_columns(matrix, space.resolution)
    if combinations is not None and warn:
        warn_user(
            f"the null space has dimension {matrix.shape[1]}, and the data determine only {combinations.shape[1]} of "
            "its functions (points on a line or plane, constant or repeated features?): the coefficients of smallest "
            "norm are taken."
        )
    return combinations


def warn_off_span(matrix: np.ndarray, combinations: np.ndarray) -> None:
    """Warn if new points have a share in functions that the data did not determine: it is taken to be zero there.

    Parameters
    ----------
    matrix : array (n, p)
        The basis functions at the new points.
    combinations : array (p, r)
        What :func:`identifiable` returned.

    See Also
    --------
    identifiable

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.nullspace.spaces import warn_off_span
    >>> warn_off_span(np.array([[1.0, 0.0]]), np.array([[1.0], [0.0]]))
    """
    off = matrix - (matrix @ combinations) @ combinations.T
    far = np.linalg.norm(off, axis=1) > _OFF_SPAN * np.linalg.norm(matrix, axis=1)
    if far.any():
        warn_user(
            f"{int(far.sum())} of {len(matrix)} points lie off the line, plane or subspace of the training points "
            "(columns that were constant, or a sum of others, are not any more): nothing was learned in that direction."
        )


def _as_points(X: Any) -> Any:
    X = as_points(X)
    if X.ndim != 2:
        raise ValueError(f"X must be an array (n, d), got shape {X.shape}: use X.reshape(-1, 1) for a single column.")
    return X


def _root_mean_squares(values: np.ndarray) -> np.ndarray:
    """Of the columns; 1 for columns of zeros."""
    scale = np.sqrt((values**2).mean(axis=0))
    scale[scale == 0] = 1.0
    return scale
