"""Kernels of the inner product, power series of kernels, and kernels given by a feature map."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.polynomial import polynomial
from sklearn.utils.extmath import safe_sparse_dot

from .base import DILATION, ROTATION, Kernel
from .calculus import chain_rule, falling_power, inner_product_jet


class Linear(Kernel):
    """<x, y>. X may be sparse."""

    accepts_sparse = True

    @property
    def invariances(self):
        return frozenset({ROTATION, DILATION})

    @property
    def dilation_degree(self):
        return 2

    def of_inner_products(self, products: np.ndarray) -> np.ndarray:
        """The kernel as a function of <x, y>."""
        return products

    def _matrix(self, X, Y):
        return safe_sparse_dot(X, (X if Y is None else Y).T, dense_output=True)

    def _diag(self, X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel() if hasattr(X, "multiply") else np.einsum("ij,ij->i", X, X)

    def _derivative(self, X, Y, x, y):
        values, jet = inner_product_jet(*_dense(X, Y))
        return chain_rule(lambda k: (values, np.ones_like(values))[k] if k < 2 else np.zeros_like(values), jet, x, y)


class Polynomial(Kernel):
    """(gamma <x, y> + offset)^degree; homogeneous for ``offset=0``, and then it scales with the data (seed 000,
    section 3).
    """

    accepts_sparse = True

    def __init__(self, degree: int = 3, offset: float = 1.0, gamma: float = 1.0):
        self.degree = degree
        self.offset = offset
        self.gamma = gamma

    @classmethod
    def examples(cls):
        return [cls(2, 0.0), cls(3, 1.0, 0.5)]

    @property
    def invariances(self):
        return frozenset({ROTATION, DILATION} if self.offset == 0 else {ROTATION})

    @property
    def dilation_degree(self):
        return 2 * self.degree if self.offset == 0 else None

    def _series(self, values, k):
        if not (isinstance(self.degree, (int, np.integer)) and self.degree >= 1):
            raise ValueError(f"degree must be a positive integer, got {self.degree!r}.")
        if self.offset < 0 or self.gamma <= 0:
            raise ValueError(f"offset must be >= 0 and gamma > 0, got offset={self.offset!r}, gamma={self.gamma!r}.")
        if k > self.degree:
            return np.zeros_like(values)
        return falling_power(self.degree, k) * self.gamma**k * (self.gamma * values + self.offset) ** (self.degree - k)

    def of_inner_products(self, products: np.ndarray) -> np.ndarray:
        """The kernel as a function of <x, y>."""
        return self._series(products, 0)

    def _matrix(self, X, Y):
        return self._series(Linear()._matrix(X, Y), 0)

    def _diag(self, X):
        return self._series(Linear()._diag(X), 0)

    def _derivative(self, X, Y, x, y):
        values, jet = inner_product_jet(*_dense(X, Y))
        return chain_rule(lambda k: self._series(values, k), jet, x, y)


class PowerSeries(Kernel):
    """t(k(x, y)) for a power series t with non-negative coefficients and a positive definite kernel k (seed 003,
    corollary 8).

    Parameters
    ----------
    series : {"exp", "cosh", "sinh"} or sequence of float
        The series by name, or its coefficients a_0, a_1, ...; a negative one is refused, because the kernel need not be
        positive definite then.
    kernel : Kernel, optional
        The inner kernel; left out, the inner product <x, y>.

    Examples
    --------
    >>> from seminorm.kernels import Gaussian, PowerSeries
    >>> PowerSeries("exp")([[1.0, 0.0], [0.0, 1.0]]).round(3)
    array([[2.718, 1.   ],
           [1.   , 2.718]])
    >>> PowerSeries((0.0, 1.0, 0.5), kernel=Gaussian()).order
    0
    """

    def __init__(self, series: str | Sequence[float] = "exp", kernel: Kernel | None = None):
        self.series = series
        self.kernel = kernel

    @classmethod
    def examples(cls):
        from .positive_radial import Gaussian

        return [cls("exp"), cls("cosh"), cls("sinh"), cls((0.5, 1.0, 0.0, 0.25)), cls("sinh", kernel=Gaussian(0.7))]

    @property
    def accepts_sparse(self):
        return self._inner().accepts_sparse

    @property
    def invariances(self):
        return self._inner().invariances - {DILATION}

    @property
    def is_indefinite(self):
        return self._inner().is_indefinite

    @property
    def smoothness(self):
        return self._inner().smoothness

    @property
    def max_dimension(self):
        return self._inner().max_dimension

    def for_dimension(self, dimension):
        inner = self._inner()
        if inner.order > 0:
            raise ValueError(
                f"the inner kernel of a power series must be positive definite (order 0), and {inner!r} has order "
                f"{inner.order}: "
                "use its twin (seminorm.nullspace.Twin)."
            )
        return PowerSeries(self.series, inner.for_dimension(dimension))

    def _refuse_singular(self, X, Y, times):
        self._inner()._refuse_singular(X, Y, times)

    def _inner(self) -> Kernel:
        return Linear() if self.kernel is None else self.kernel

    def _series(self, values, k):
        if isinstance(self.series, str):
            named = {"exp": (np.exp, np.exp), "cosh": (np.cosh, np.sinh), "sinh": (np.sinh, np.cosh)}
            if self.series not in named:
                raise ValueError(
                    f"series must be 'exp', 'cosh', 'sinh' or a sequence of coefficients, got {self.series!r}."
                )
            return named[self.series][k % 2](values)
        coefficients = np.asarray(self.series, dtype=float)
        if coefficients.ndim != 1 or len(coefficients) == 0 or not np.isfinite(coefficients).all():
            raise ValueError(f"series must be a sequence of finite coefficients a_0, a_1, ..., got {self.series!r}.")
        if (coefficients < 0).any():
            raise ValueError(
                f"series has the negative coefficient {coefficients.min():g}: the kernel would not be positive "
                "definite. All coefficients must be >= 0."
            )
        return (
            polynomial.polyval(values, polynomial.polyder(coefficients, k))
            if k
            else polynomial.polyval(values, coefficients)
        )

    def of_inner_products(self, products: np.ndarray) -> np.ndarray:
        """The kernel as a function of <x, y>; only if the inner kernel is one."""
        inner = self._inner()
        if not hasattr(inner, "of_inner_products"):
            raise ValueError(f"{self!r} is not a function of the inner product <x, y>: its inner kernel is {inner!r}.")
        return self._series(inner.of_inner_products(products), 0)

    def _matrix(self, X, Y):
        return self._series(self._inner()._matrix(X, Y), 0)

    def _diag(self, X):
        return self._series(self._inner()._diag(X), 0)

    def _derivative(self, X, Y, x, y):
        X, Y = _dense(X, Y)
        values = self._inner()._matrix(X, Y)
        return chain_rule(lambda k: self._series(values, k), self._inner()._jet(X, Y), x, y)


class FeatureMap(Kernel):
    """phi(x)' S phi(y) for a feature map phi and a covariance S of its weights (seed 004, 2.11).

    Parameters
    ----------
    features : callable
        Takes X (n, d) and returns the features (n, p).
    covariance : array (p, p) or (p,), optional
        Prior covariance of the weights, or its diagonal; the identity if left out. Must be symmetric positive
        semi-definite.
    jacobian : callable, optional
        Takes X and returns the derivatives of the features (n, p, d); makes the kernel's first derivatives available.
    """

    def __init__(self, features=None, covariance=None, jacobian=None):
        self.features = features
        self.covariance = covariance
        self.jacobian = jacobian

    @classmethod
    def examples(cls):
        return [cls(_example_features, np.array([1.0, 0.5, 2.0]), _example_jacobian)]

    @property
    def smoothness(self):
        return math.inf if self.jacobian is not None else 0

    def _features(self, X, factor):
        if not callable(self.features):
            raise ValueError(
                f"features must be a callable that maps X (n, d) to features (n, p), got {self.features!r}."
            )
        values = np.asarray(self.features(X), dtype=float)
        if values.ndim != 2 or len(values) != X.shape[0]:
            raise ValueError(
                f"features must return an array of shape (n, p) with n = {X.shape[0]}, got shape {values.shape}."
            )
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
        if self.jacobian is None or max(x, y) > 1:
            raise ValueError(
                "FeatureMap has the derivatives its jacobian gives: once in each argument, with jacobian= a "
                "callable that returns (n, p, d)."
            )
        return np.einsum(
            "npi,mpj->nmij" if x and y else "npi,mp->nmi" if x else "np,mpj->nmj", self._side(X, x), self._side(Y, y)
        )

    def _side(self, X, times: int):
        if not times:
            return self._features(X, self._factor)
        jacobian = np.asarray(self.jacobian(X), dtype=float)
        return np.einsum("npd,pq->nqd", jacobian, self._factor(jacobian.shape[1]))


def _dense(X, Y):
    return (X.toarray() if hasattr(X, "toarray") else X), (Y.toarray() if hasattr(Y, "toarray") else Y)


def _example_features(X):
    return np.column_stack([np.ones(len(X)), X[:, 0], np.sin(X).sum(axis=1)])


def _example_jacobian(X):
    first = np.zeros_like(X)
    first[:, 0] = 1.0
    return np.stack([np.zeros_like(X), first, np.cos(X)], axis=1)
