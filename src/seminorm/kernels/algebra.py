"""What ``+``, ``*``, scaling and wrapping give: kernels again, with the right order, symmetries and derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from .._base.patterns import is_plain
from .base import DILATION, ROTATION, Kernel, OfProducts, as_in, composed_by
from .calculus import product_rule

_Kind = TypeVar("_Kind", bound="type[Kernel]")


def from_parts(**rules: Callable[[list], Any]) -> Callable[[_Kind], _Kind]:
    """Class decorator: properties that follow from those of the parts of a composed kernel, by a rule such as min."""

    def property_of(name: str, rule: Callable[[list], Any]) -> property:
        return property(lambda self: rule([getattr(part, name) for part in self._parts()]))

    def enter(kind: _Kind) -> _Kind:
        for name, rule in rules.items():
            setattr(kind, name, property_of(name, rule))
        return kind

    return enter


@from_parts(accepts_sparse=all, accepts_patterns=any, is_indefinite=any, differentiability=min, max_dimension=min)
@from_parts(support_radius=max, reach=max, knots=lambda knots: np.unique(np.concatenate(knots)))
@from_parts(invariances=lambda sets: frozenset.intersection(*sets))
class Composed(Kernel):
    """Base of the kernels made of others, the ``_parts()`` of a subclass: it has the properties that all have."""

    def _parts(self) -> tuple[Kernel, ...]:
        raise TypeError(f"{type(self).__name__} does not name its parts: subclasses of Composed supply _parts().")

    @property
    def period(self) -> float | None:
        periods = {part.period for part in self._parts()}
        return periods.pop() if len(periods) == 1 else None

    def patterns(self, X: Any, name: str = "X") -> Any:
        for part in self._parts():
            if part.accepts_patterns:
                X = part.patterns(X, name)
        other = next((part for part in self._parts() if not part.accepts_patterns), None)
        if other is not None and not is_plain(X):
            raise ValueError(f"{name} holds patterns that are no rows of numbers, and {other!r} takes points (n, d).")
        return X if other is None else check_array(X, dtype=np.float64, input_name=name)

    def _refuse_singular(self, X, Y, times: int) -> None:
        for part in self._parts():
            part._refuse_singular(X, Y, times)


class Pair(Composed):
    """Base of the kernels made of two others, by an operation on their values."""

    _operation: np.ufunc

    def __init__(self, first: Kernel, second: Kernel):
        self.first, self.second = first, second

    def _parts(self) -> tuple[Kernel, Kernel]:
        return self.first, self.second

    def of_products(self) -> OfProducts | None:
        first, second = self.first.of_products(), self.second.of_products()
        if first is None or second is None:
            return None
        return lambda *given: self._operation(first(*given), second(*given))

    def for_dimension(self, dimension: int) -> Kernel:
        self.check_composition()
        return type(self)(self.first.for_dimension(dimension), self.second.for_dimension(dimension))

    def _matrix(self, X, Y):
        matrix = self.first._matrix(X, Y)
        return self._operation(matrix, self.second._matrix(X, Y), out=matrix)

    def _diag(self, X):
        return self._operation(self.first._diag(X), self.second._diag(X))


@composed_by("+")
@from_parts(cpd_order=max, null_degree=max, limit=sum)
class Sum(Pair):
    """first + second. The order is the larger one; what either of them leaves free stays free.

    Parameters
    ----------
    first, second : Kernel

    See Also
    --------
    Product, Scaled

    Examples
    --------
    >>> from seminorm.kernels import Gaussian, ThinPlate
    >>> (Gaussian() + ThinPlate()).cpd_order
    2
    """

    _operation = np.add

    @property
    def invariances(self) -> frozenset[str]:
        return super().invariances - (frozenset({DILATION}) if self.dilation_degree is None else frozenset())

    @property
    def dilation_degree(self) -> float | None:
        return self.first.dilation_degree if self.first.dilation_degree == self.second.dilation_degree else None

    def _derivative(self, X, Y, x, y):
        return self.first._derivative(X, Y, x, y) + self.second._derivative(X, Y, x, y)


@composed_by("*")
@from_parts(support_radius=min, limit=math.prod)
class Product(Pair):
    """first * second. Both must be positive definite (order 0): the product of other kernels need not be a kernel.

    Parameters
    ----------
    first, second : Kernel

    See Also
    --------
    Sum

    Examples
    --------
    >>> from seminorm.kernels import Gaussian, Polynomial
    >>> (Gaussian() * Polynomial(2))([[0.0]], [[0.0], [1.0]]).round(4)
    array([[1.    , 0.6065]])
    """

    _operation = np.multiply

    def check_composition(self) -> None:
        """Refuse factors that are not positive definite."""
        for factor in self._parts():
            if factor.cpd_order > 0:
                raise ValueError(
                    f"a product of kernels needs positive definite factors (order 0), and {factor!r} has order "
                    f"{factor.cpd_order}. Add kernels instead, or multiply its twin (seminorm.nullspace.Twin)."
                )

    @property
    def dilation_degree(self) -> float | None:
        first, second = self.first.dilation_degree, self.second.dilation_degree
        return None if first is None or second is None else first + second

    @property
    def reach(self) -> float:
        """That of the first factor to vanish; of the last to settle if none vanishes."""
        vanishing = [part.reach for part in self._parts() if part.limit == 0]
        return min(vanishing) if vanishing else super().reach

    def _derivative(self, X, Y, x, y):
        return product_rule(self.first._jet(X, Y), self.second._jet(X, Y), x, y)


@as_in("kernel", "cpd_order", "null_degree", "dilation_degree", "limit")
class Wrapper(Composed):
    """Base of the kernels around one other kernel: passes its properties on."""

    kernel: Kernel

    def _parts(self) -> tuple[Kernel]:
        return (self.kernel,)


@composed_by("factor")
class Scaled(Wrapper):
    """factor * kernel with factor > 0.

    Parameters
    ----------
    kernel : Kernel
    factor : float

    See Also
    --------
    AxisScale

    Examples
    --------
    >>> from seminorm.kernels import Gaussian
    >>> 2 * Gaussian()
    Scaled(kernel=Gaussian(scale=1.0), factor=2.0)
    """

    def __init__(self, kernel: Kernel, factor: float = 1.0):
        self.kernel, self.factor = kernel, factor

    def check_composition(self) -> None:
        """Refuse factors that are not positive."""
        if not (np.isfinite(self.factor) and self.factor > 0):
            raise ValueError(f"factor must be positive for a scaled kernel to stay a kernel, got {self.factor!r}.")

    @property
    def limit(self) -> float:
        return self.factor * self.kernel.limit

    def of_products(self) -> OfProducts | None:
        inner = self.kernel.of_products()
        return None if inner is None else lambda products, distances: self.factor * inner(products, distances)

    def for_dimension(self, dimension: int) -> Kernel:
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


class InCoordinates(Wrapper):
    """Base of the kernels of other coordinates; a subclass supplies ``_coordinates(X)`` and ``_derivative``."""

    def _coordinates(self, X):
        raise TypeError(f"{type(self).__name__} does not define _coordinates(X).")

    def _both(self, X, Y) -> tuple[Any, Any]:
        return self._coordinates(X), None if Y is None else self._coordinates(Y)

    def _refuse_singular(self, X, Y, times: int) -> None:
        self.kernel._refuse_singular(*self._both(X, Y), times)

    def _matrix(self, X, Y):
        return self.kernel._matrix(*self._both(X, Y))

    def _diag(self, X):
        return self.kernel._diag(self._coordinates(X))


@composed_by("columns")
class OnColumns(InCoordinates):
    """A kernel that looks only at some columns of X.

    Parameters
    ----------
    kernel : Kernel
    columns : sequence of int
        Indices of the columns, each once.

    See Also
    --------
    AxisScale

    Examples
    --------
    >>> from seminorm.kernels import Gaussian
    >>> Gaussian().on_columns([1])([[7.0, 0.0]], [[0.0, 0.0]])
    array([[1.]])
    """

    def __init__(self, kernel: Kernel, columns: ArrayLike):
        self.kernel = kernel
        self.columns: Any = columns

    @property
    def invariances(self) -> frozenset[str]:
        return self.kernel.invariances - {ROTATION}

    # along the other columns nothing ends
    max_dimension, support_radius, reach = Kernel.max_dimension, Kernel.support_radius, Kernel.reach
    knots, period = Kernel.knots, Kernel.period

    def for_dimension(self, dimension: int) -> Kernel:
        columns = self._columns()
        if columns.max() >= dimension:
            raise ValueError(f"columns names column {columns.max()}, and those of X are 0 to {dimension - 1}.")
        return OnColumns(self.kernel.for_dimension(len(columns)), columns)

    def _columns(self) -> np.ndarray:
        columns = np.atleast_1d(np.asarray(self.columns))
        numbers = columns.ndim == 1 and columns.size > 0 and columns.dtype.kind in "iu"
        if not numbers or columns.min() < 0 or len(set(columns.tolist())) < len(columns):
            raise ValueError(f"columns must be distinct non-negative column numbers, got {self.columns!r}.")
        return columns

    def _coordinates(self, X):
        return X[:, self._columns()]

    def _derivative(self, X, Y, x, y):
        inner = self.kernel._derivative(*self._both(X, Y), x, y)
        result = np.zeros(inner.shape[:2] + (X.shape[1],) * (x + y))
        result[np.ix_(*map(range, inner.shape[:2]), *[self._columns()] * (x + y))] = inner
        return result


@composed_by("scale")
class AxisScale(InCoordinates):
    """A kernel after dividing each column of X by its own scale.

    Parameters
    ----------
    kernel : Kernel
    scale : float or sequence of float
        One positive number per column, or one for all.

    See Also
    --------
    OnColumns, Scaled

    Examples
    --------
    >>> from seminorm.kernels import Gaussian
    >>> Gaussian().axis_scale([1.0, 10.0])([[0.0, 0.0]], [[1.0, 0.0], [0.0, 10.0]]).round(4)
    array([[0.6065, 0.6065]])
    """

    def __init__(self, kernel: Kernel, scale: ArrayLike = 1.0):
        self.kernel = kernel
        self.scale: Any = scale

    @property
    def invariances(self) -> frozenset[str]:
        return self.kernel.invariances - (frozenset() if self._is_uniform() else {ROTATION})

    @property
    def support_radius(self) -> float:
        return self.kernel.support_radius * float(np.max(self.scale))

    @property
    def reach(self) -> float:
        return self.kernel.reach * float(np.max(self.scale))

    @property
    def knots(self) -> np.ndarray:
        return self.kernel.knots * float(np.max(self.scale)) if self._is_uniform() else np.empty(0)

    @property
    def period(self) -> float | None:
        inner = self.kernel.period
        return None if inner is None or not self._is_uniform() else inner * float(np.max(self.scale))

    def of_products(self) -> OfProducts | None:
        inner = self.kernel.of_products() if self._is_uniform() else None
        if inner is None:
            return None
        factor = 1.0 / float(np.max(self.scale)) ** 2
        return lambda products, distances: inner(factor * products, factor * distances)

    def for_dimension(self, dimension: int) -> AxisScale:
        scale = np.asarray(self.scale, dtype=float)
        if scale.shape not in ((), (dimension,)) or not (np.isfinite(scale).all() and (scale > 0).all()):
            raise ValueError(
                f"scale must be one positive number, or one for each of the {dimension} columns of X, got "
                f"{self.scale!r}."
            )
        return AxisScale(self.kernel.for_dimension(dimension), scale if scale.ndim else float(scale))

    def _is_uniform(self) -> bool:
        return np.ndim(self.scale) == 0

    def _coordinates(self, X):
        scale = np.asarray(self.scale, dtype=float)
        return X.multiply(1.0 / scale).tocsr() if hasattr(X, "multiply") else X / scale

    def _derivative(self, X, Y, x, y):
        result = self.kernel._derivative(*self._both(X, Y), x, y)
        scale = np.broadcast_to(np.asarray(self.scale, dtype=float), (X.shape[1],))
        for axis in range(x + y):
            result = result / scale.reshape((-1,) + (1,) * (x + y - 1 - axis))
        return result


def summands(kernel: Kernel) -> list[Kernel]:
    """The kernels whose sum a kernel is.

    Parameters
    ----------
    kernel : Kernel

    Returns
    -------
    list of Kernel, itself alone if it is no sum

    See Also
    --------
    Sum

    Examples
    --------
    >>> from seminorm.kernels import Gaussian, ThinPlate
    >>> from seminorm.kernels.algebra import summands
    >>> len(summands(Gaussian() + ThinPlate() + Gaussian(2.0)))
    3
    """
    return [kernel] if not isinstance(kernel, Sum) else [*summands(kernel.first), *summands(kernel.second)]


def columns_of(kernel: Kernel, dimension: int) -> list[int]:
    """The columns of X that a kernel looks at: those of :class:`OnColumns`, or all.

    Parameters
    ----------
    kernel, dimension : Kernel, int

    Returns
    -------
    list of int

    See Also
    --------
    OnColumns

    Examples
    --------
    >>> from seminorm.kernels import Gaussian
    >>> from seminorm.kernels.algebra import columns_of
    >>> columns_of(2 * Gaussian().on_columns([1]), 3), columns_of(Gaussian(), 3)
    ([1], [0, 1, 2])
    """
    while isinstance(kernel, (Scaled, AxisScale)):
        kernel = kernel.kernel
    return [int(k) for k in kernel._columns()] if isinstance(kernel, OnColumns) else list(range(dimension))
