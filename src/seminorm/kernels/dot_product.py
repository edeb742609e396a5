"""Kernels of the inner product, power series of kernels, and kernels given by a feature map."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import ArrayLike
from sklearn.utils.extmath import safe_sparse_dot

from .algebra import Composed
from .base import DILATION, ROTATION, Kernel, OfProducts, composed_by, non_negative
from .calculus import chain_rule, falling_power, inner_product_jet


class DotProduct(Kernel):
    """Base of the kernels t(<x, y>). A subclass supplies ``_series(values, k)``, the k-th derivative of t."""

    accepts_sparse = True

    def _series(self, values: np.ndarray, k: int) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not define its function: supply _series(values, k).")

    def of_inner_products(self, products: np.ndarray) -> np.ndarray:
        """The kernel as a function of <x, y>."""
        return self._series(products, 0)

    def of_products(self) -> OfProducts | None:
        return lambda products, distances: self._series(products, 0)

    def _matrix(self, X, Y):
        return self._series(safe_sparse_dot(X, (X if Y is None else Y).T, dense_output=True), 0)

    def _diag(self, X):
        squares = X.multiply(X).sum(axis=1) if hasattr(X, "multiply") else np.einsum("ij,ij->i", X, X)
        return self._series(np.asarray(squares).ravel(), 0)

    def _derivative(self, X, Y, x, y):
        values, jet = inner_product_jet(*_dense(X, Y))
        return chain_rule(lambda k: self._series(values, k), jet, x, y)


class Linear(DotProduct):
    """<x, y>. X may be sparse.

    See Also
    --------
    Polynomial

    Examples
    --------
    >>> from seminorm.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    invariances = frozenset({ROTATION, DILATION})
    dilation_degree = 2

    def _series(self, values: np.ndarray, k: int) -> np.ndarray:
        return values if k == 0 else np.full_like(values, 1.0 if k == 1 else 0.0)


class Polynomial(DotProduct):
    """(gamma <x, y> + offset)^degree; homogeneous for ``offset=0``, and then it scales with the data
    [Walder and Chapelle 2007, 3].

    Parameters
    ----------
    degree, offset, gamma : int, float, float
        Degree and gamma positive, offset not negative.

    See Also
    --------
    Linear, PowerSeries

    Examples
    --------
    >>> from seminorm.kernels import Polynomial
    >>> Polynomial(2)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    def __init__(self, degree: int = 3, offset: float = 1.0, gamma: float = 1.0):
        self.degree, self.offset, self.gamma = degree, offset, gamma

    @property
    def invariances(self) -> frozenset[str]:
        return frozenset({ROTATION, DILATION} if self.offset == 0 else {ROTATION})

    @property
    def dilation_degree(self) -> float | None:
        return 2 * self.degree if self.offset == 0 else None

    def _series(self, values: np.ndarray, k: int) -> np.ndarray:
        if not (isinstance(self.degree, (int, np.integer)) and self.degree >= 1):
            raise ValueError(f"degree must be a positive integer, got {self.degree!r}.")
        if self.offset < 0 or self.gamma <= 0:
            raise ValueError(f"offset must be >= 0 and gamma > 0, got offset={self.offset!r}, gamma={self.gamma!r}.")
        if k > self.degree:
            return np.zeros_like(values)
        return falling_power(self.degree, k) * self.gamma**k * (self.gamma * values + self.offset) ** (self.degree - k)


@composed_by("series")
class PowerSeries(Composed):
    """t(k(x, y)) for a power series t with non-negative coefficients and a positive definite kernel k
    [Smola et al. 1998, corollary 8].

    Parameters
    ----------
    series : {"exp", "cosh", "sinh"} or sequence of float
        By name, or by coefficients a_0, a_1, ... >= 0.
    kernel : Kernel, optional
        The inner kernel; left out, the inner product <x, y>.

    See Also
    --------
    Polynomial

    Examples
    --------
    >>> from seminorm.kernels import Gaussian, PowerSeries
    >>> PowerSeries("exp")([[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]).round(3)
    array([[2.718, 1.   ]])
    >>> PowerSeries((0.0, 1.0, 0.5), kernel=Gaussian()).cpd_order
    0
    """

    def __init__(self, series: str | Sequence[float] = "exp", kernel: Kernel | None = None):
        self.series, self.kernel = series, kernel

    def _parts(self) -> tuple[Kernel]:
        return (self._inner(),)

    @property
    def invariances(self) -> frozenset[str]:
        return super().invariances - {DILATION}

    @property
    def limit(self) -> float:
        return float(self._series(np.array([self._inner().limit]), 0)[0])

    @property
    def support_radius(self) -> float:
        return super().support_radius if self.limit == 0 else math.inf

    def for_dimension(self, dimension: int) -> Kernel:
        inner = self._inner()
        if inner.cpd_order > 0:
            raise ValueError(
                f"the inner kernel of a power series must be positive definite (order 0), and {inner!r} has order "
                f"{inner.cpd_order}: use its twin (seminorm.nullspace.Twin)."
            )
        return PowerSeries(self.series, inner.for_dimension(dimension))

    def _inner(self) -> Kernel:
        return Linear() if self.kernel is None else self.kernel

    def _series(self, values, k):
        if isinstance(self.series, str):
            named = {"exp": (np.exp, np.exp), "cosh": (np.cosh, np.sinh), "sinh": (np.sinh, np.cosh)}
            if self.series not in named:
                raise ValueError(f"series must be 'exp', 'cosh', 'sinh' or coefficients, got {self.series!r}.")
            return named[self.series][k % 2](values)
        return polynomial.polyval(values, polynomial.polyder(non_negative("series", self.series), k))

    def of_inner_products(self, products: np.ndarray) -> np.ndarray:
        """The kernel as a function of <x, y>; only if the inner kernel is one."""
        inner = self._inner()
        if not hasattr(inner, "of_inner_products"):
            raise ValueError(f"{self!r} is not a function of the inner product <x, y>: its inner kernel is {inner!r}.")
        return self._series(inner.of_inner_products(products), 0)

    def of_products(self) -> OfProducts | None:
        inner = self._inner().of_products()
        return None if inner is None else lambda products, distances: self._series(inner(products, distances), 0)

    def _matrix(self, X, Y):
        return self._series(self._inner()._matrix(X, Y), 0)

    def _diag(self, X):
        return self._series(self._inner()._diag(X), 0)

    def _derivative(self, X, Y, x, y):
        X, Y = _dense(X, Y)
        values = self._inner()._matrix(X, Y)
        return chain_rule(lambda k: self._series(values, k), self._inner()._jet(X, Y), x, y)


class FeatureMap(Kernel):
    """phi(x)' S phi(y) for a feature map phi and a covariance S of its weights [Walder 2008, 2.11].

    Parameters
    ----------
    features : callable
        Takes X (n, d) and returns the features (n, p).
    covariance : array (p, p) or (p,), optional
        Positive semi-definite, or its diagonal; the identity if left out.
    jacobian : callable, optional
        Derivatives of the features (n, p, d) at X, for first derivatives of the kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.kernels import FeatureMap
    >>> waves = FeatureMap(lambda X: np.hstack([np.cos(X), np.sin(X)]))
    >>> waves([[0.0]], [[0.0], [np.pi]])
    array([[ 1., -1.]])

    See Also
    --------
    seminorm.nullspace.Features : features that are left free.
    """

    def __init__(
        self,
        features: Callable[[np.ndarray], np.ndarray] | None = None,
        covariance: ArrayLike | None = None,
        jacobian: Callable[[np.ndarray], np.ndarray] | None = None,
    ):
        self.features, self.covariance, self.jacobian = features, covariance, jacobian

    @property
    def differentiability(self) -> float:
        return math.inf if self.jacobian is not None else 0

    def _features(self, X, factor):
        if not callable(self.features):
            raise ValueError(f"features must be a callable that maps X (n, d) to (n, p), got {self.features!r}.")
        values = checked_features(self.features(X), X)
        return values @ factor(values.shape[1])

    def _factor(self, size: int) -> np.ndarray:
        """A matrix R with R R' = S."""
        if self.covariance is None:
            return np.eye(size)
        covariance = np.asarray(self.covariance, dtype=float)
        covariance = np.diag(covariance) if covariance.ndim == 1 else covariance
        if covariance.shape != (size, size):
            raise ValueError(
                f"covariance must be ({size}, {size}) or ({size},) for {size} features, got shape "
                f"{np.shape(self.covariance)}."
            )
        eigenvalues, vectors = np.linalg.eigh(covariance)
        if not np.allclose(covariance, covariance.T) or eigenvalues[0] < -1e-10 * max(eigenvalues[-1], 0.0):
            raise ValueError("covariance must be symmetric and positive semi-definite.")
        return vectors * np.sqrt(np.maximum(eigenvalues, 0.0))

    def _matrix(self, X, Y):
        left = self._features(X, self._factor)
        return left @ (left if Y is None else self._features(Y, self._factor)).T

    def _diag(self, X):
        return (self._features(X, self._factor) ** 2).sum(axis=1)

    def _derivative(self, X, Y, x, y):
        rule = "npi,mpj->nmij" if x and y else "npi,mp->nmi" if x else "np,mpj->nmj"
        return np.einsum(rule, self._side(X, x), self._side(Y, y))

    def _side(self, X, times: int):
        if not times:
            return self._features(X, self._factor)
        if self.jacobian is None or times > 1:
            raise ValueError(
                "FeatureMap has the derivatives its jacobian gives: once in each argument, with jacobian= a "
                "callable that returns (n, p, d)."
            )
        jacobian = np.asarray(self.jacobian(X), dtype=float)
        return np.einsum("npd,pq->nqd", jacobian, self._factor(jacobian.shape[1]))


def checked_features(values, X) -> np.ndarray:
    """What a feature map returned for X, as an array (n, p)."""
    values = np.asarray(values, dtype=float)
    if values.ndim != 2 or len(values) != X.shape[0]:
        raise ValueError(f"features must return an array (n, p) with n = {X.shape[0]}, got shape {values.shape}.")
    return values


def _dense(X, Y):
    return (X.toarray() if hasattr(X, "toarray") else X), (Y.toarray() if hasattr(Y, "toarray") else Y)
