"""What ``+``, ``*``, scaling and wrapping give: kernels again, with the right order, symmetries and derivatives."""

from __future__ import annotations

import numpy as np

from .base import ROTATION, Kernel
from .calculus import product_rule


class Sum(Kernel):
    """first + second. The order is the larger one; free is what either leaves free."""

    def __init__(self, first: Kernel, second: Kernel):
        self.first = first
        self.second = second

    @classmethod
    def examples(cls):
        from .conditional_radial import Multiquadric, ThinPlate
        from .dot_product import Linear
        from .positive_radial import Gaussian

        return [Gaussian() + Linear(), ThinPlate() + 0.5 * Multiquadric()]

    accepts_sparse = property(lambda self: self.first.accepts_sparse and self.second.accepts_sparse)
    order = property(lambda self: max(self.first.order, self.second.order))
    null_degree = property(lambda self: max(self.first.null_degree, self.second.null_degree))
    is_indefinite = property(lambda self: self.first.is_indefinite or self.second.is_indefinite)
    smoothness = property(lambda self: min(self.first.smoothness, self.second.smoothness))
    max_dimension = property(lambda self: min(self.first.max_dimension, self.second.max_dimension))

    @property
    def invariances(self):
        common = self.first.invariances & self.second.invariances
        return common if self.dilation_degree is not None else common - {"dilation"}

    @property
    def dilation_degree(self):
        return self.first.dilation_degree if self.first.dilation_degree == self.second.dilation_degree else None

    def _refuse_singular(self, X, Y, times):
        self.first._refuse_singular(X, Y, times)
        self.second._refuse_singular(X, Y, times)

    def for_dimension(self, dimension):
        return Sum(self.first.for_dimension(dimension), self.second.for_dimension(dimension))

    def _matrix(self, X, Y):
        total = self.first._matrix(X, Y)
        total += self.second._matrix(X, Y)
        return total

    def _diag(self, X):
        return self.first._diag(X) + self.second._diag(X)

    def _derivative(self, X, Y, x, y):
        return self.first._derivative(X, Y, x, y) + self.second._derivative(X, Y, x, y)


class Product(Kernel):
    """first * second. Both must be positive definite (order 0): the product of other kernels need not be a kernel."""

    def __init__(self, first: Kernel, second: Kernel):
        self.first = first
        self.second = second

    def check_composition(self):
        for factor in (self.first, self.second):
            if factor.order > 0:
                raise ValueError(
                    f"a product of kernels needs positive definite factors (order 0), and {factor!r} has order "
                    f"{factor.order}. "
                    "Add kernels instead, or multiply its twin (seminorm.nullspace.Twin)."
                )

    @classmethod
    def examples(cls):
        from .dot_product import Polynomial
        from .positive_radial import Gaussian, Matern

        return [Gaussian(1.5) * Matern(2.5), Gaussian() * Polynomial(2, 0.5)]

    accepts_sparse = property(lambda self: self.first.accepts_sparse and self.second.accepts_sparse)
    smoothness = property(lambda self: min(self.first.smoothness, self.second.smoothness))
    max_dimension = property(lambda self: min(self.first.max_dimension, self.second.max_dimension))
    invariances = property(lambda self: self.first.invariances & self.second.invariances)
    is_indefinite = property(lambda self: self.first.is_indefinite or self.second.is_indefinite)

    @property
    def dilation_degree(self):
        degrees = self.first.dilation_degree, self.second.dilation_degree
        return None if None in degrees else sum(degrees)

    _refuse_singular = Sum._refuse_singular

    def for_dimension(self, dimension):
        self.check_composition()
        return Product(self.first.for_dimension(dimension), self.second.for_dimension(dimension))

    def _matrix(self, X, Y):
        matrix = self.first._matrix(X, Y)
        matrix *= self.second._matrix(X, Y)
        return matrix

    def _diag(self, X):
        return self.first._diag(X) * self.second._diag(X)

    def _derivative(self, X, Y, x, y):
        return product_rule(self.first._jet(X, Y), self.second._jet(X, Y), x, y)


class _Wrapper(Kernel):
    """A kernel around one other kernel: passes its properties on."""

    accepts_sparse = property(lambda self: self.kernel.accepts_sparse)
    order = property(lambda self: self.kernel.order)
    null_degree = property(lambda self: self.kernel.null_degree)
    is_indefinite = property(lambda self: self.kernel.is_indefinite)
    invariances = property(lambda self: self.kernel.invariances)
    dilation_degree = property(lambda self: self.kernel.dilation_degree)
    smoothness = property(lambda self: self.kernel.smoothness)
    max_dimension = property(lambda self: self.kernel.max_dimension)


class Scaled(_Wrapper):
    """factor * kernel with factor > 0."""

    def __init__(self, kernel: Kernel, factor: float = 1.0):
        self.kernel = kernel
        self.factor = factor

    def check_composition(self):
        if not (np.isfinite(self.factor) and self.factor > 0):
            raise ValueError(f"factor must be positive for a scaled kernel to stay a kernel, got {self.factor!r}.")

    @classmethod
    def examples(cls):
        from .conditional_radial import ThinPlate

        return [2.5 * ThinPlate()]

    def _refuse_singular(self, X, Y, times):
        self.kernel._refuse_singular(X, Y, times)

    def for_dimension(self, dimension):
        self.check_composition()
        return Scaled(self.kernel.for_dimension(dimension), self.factor)

    def _matrix(self, X, Y):
        matrix = self.kernel._matrix(X, Y)
        matrix *= self.factor
        return matrix

    def _diag(self, X):
        return self.factor * self.kernel._diag(X)

    def _derivative(self, X, Y, x, y):
        return self.factor * self.kernel._derivative(X, Y, x, y)


class OnColumns(_Wrapper):
    """A kernel that looks only at some columns of X.

    Parameters
    ----------
    kernel : Kernel
    columns : sequence of int
        Indices of the columns, each once.
    """

    max_dimension = Kernel.max_dimension

    def __init__(self, kernel: Kernel, columns):
        self.kernel = kernel
        self.columns = columns

    @classmethod
    def examples(cls):
        from .conditional_radial import NegativeDistance
        from .positive_radial import Matern

        return [OnColumns(Matern(2.5), [0]), OnColumns(NegativeDistance(1.5), [0])]

    @property
    def invariances(self):
        return self.kernel.invariances - {ROTATION}

    def for_dimension(self, dimension):
        columns = self._columns()
        if columns.max() >= dimension:
            raise ValueError(
                f"columns names column {columns.max()}, and X has {dimension} columns (0 to {dimension - 1})."
            )
        return OnColumns(self.kernel.for_dimension(len(columns)), columns)

    def _columns(self) -> np.ndarray:
        columns = np.atleast_1d(np.asarray(self.columns))
        if (
            columns.ndim != 1
            or columns.size == 0
            or columns.dtype.kind not in "iu"
            or columns.min() < 0
            or len(set(columns.tolist())) < len(columns)
        ):
            raise ValueError(f"columns must be distinct non-negative column numbers, got {self.columns!r}.")
        return columns

    def _take(self, X):
        return None if X is None else X[:, self._columns()]

    def _matrix(self, X, Y):
        return self.kernel._matrix(self._take(X), self._take(Y))

    def _diag(self, X):
        return self.kernel._diag(self._take(X))

    def _derivative(self, X, Y, x, y):
        inner = self.kernel._derivative(self._take(X), self._take(Y), x, y)
        result = np.zeros(inner.shape[:2] + (X.shape[1],) * (x + y))
        result[np.ix_(*map(range, inner.shape[:2]), *[self._columns()] * (x + y))] = inner
        return result

    def _refuse_singular(self, X, Y, times):
        self.kernel._refuse_singular(self._take(X), self._take(Y), times)


class AxisScale(_Wrapper):
    """A kernel after dividing each column of X by its own scale.

    Parameters
    ----------
    kernel : Kernel
    scale : float or sequence of float
        One positive number a column, or one for all.
    """

    def __init__(self, kernel: Kernel, scale=1.0):
        self.kernel = kernel
        self.scale = scale

    @classmethod
    def examples(cls):
        from .conditional_radial import ThinPlate
        from .positive_radial import Gaussian

        return [AxisScale(Gaussian(), 0.6), AxisScale(ThinPlate(), 3.0)]

    @property
    def invariances(self):
        return self.kernel.invariances - (frozenset() if np.ndim(self.scale) == 0 else {ROTATION})

    def for_dimension(self, dimension):
        scale = np.asarray(self.scale, dtype=float)
        if scale.shape not in ((), (dimension,)) or not (np.isfinite(scale).all() and (scale > 0).all()):
            raise ValueError(
                f"scale must be one positive number, or one for each of the {dimension} columns of X, got "
                f"{self.scale!r}."
            )
        return AxisScale(self.kernel.for_dimension(dimension), scale if scale.ndim else float(scale))

    def _refuse_singular(self, X, Y, times):
        self.kernel._refuse_singular(self._shrink(X), self._shrink(Y), times)

    def _shrink(self, X):
        if X is None:
            return None
        return X.multiply(1.0 / np.asarray(self.scale)).tocsr() if hasattr(X, "multiply") else X / self.scale

    def _matrix(self, X, Y):
        return self.kernel._matrix(self._shrink(X), self._shrink(Y))

    def _diag(self, X):
        return self.kernel._diag(self._shrink(X))

    def _derivative(self, X, Y, x, y):
        result = self.kernel._derivative(self._shrink(X), self._shrink(Y), x, y)
        for axis in range(x + y):
            scale = np.broadcast_to(self.scale, (X.shape[1],))
            result = result / scale.reshape((-1,) + (1,) * (x + y - 1 - axis))
        return result
