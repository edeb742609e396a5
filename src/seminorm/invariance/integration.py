"""Transformation integration kernels: a kernel averaged over the transformations of both patterns."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, reduce
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from .._base.tiles import ForEach, Tile, tiled
from ..kernels.algebra import Scaled, Sum
from ..kernels.base import ROTATION, Kernel, as_in
from ..kernels.dot_product import FeatureMap, Linear
from .haar import HaarFeatures
from .transformations.base import Quadrature, Transformation

_TILE_VALUES = 2**21  # kernel values at a time
_KEPT_VALUES = 2**24  # numbers of transformed patterns that are kept between tiles
_MOVED_VALUES = 2**24  # numbers of transformed patterns in a block
_LARGEST_TILE = 512
_OVERLAP_TILE = 256
_CANCELLATION = 1e-3


@as_in("base", "is_indefinite", "max_dimension")
class IntegrationKernel(Kernel):
    """The average of k(t x, t' y) over all pairs of transformations t, t' [Haasdonk and Burkhardt 2007, definition 8].

    If the transformations are a group with its invariant measure, the kernel does not change when a pattern is
    transformed; otherwise it changes less than k. It is positive definite if k is, and of order 1 if k is. Only affine
    transformations keep higher orders: under others (a shift along a curve, line thickness) the kernel is conditionally
    positive definite with respect to the *averages* of the polynomials, :meth:`null_features`, and :attr:`cpd_order`
    raises an error that says so.

    Parameters
    ----------
    base : Kernel
        Any kernel k.
    transformation : Transformation
        The set T, with the nodes and weights of its average.
    simultaneous : bool
        Average k(t x, t y) over t instead: invariant if all patterns are transformed together [ibid., proposition 13].

    See Also
    --------
    DistanceKernel : A kernel of the smallest distance instead of an average.
    HaarFeatures : Averages as explicit features.

    Notes
    -----
    Three cases need less than the double sum and give the same numbers: kernels with explicit features
    (:class:`Linear`, :class:`FeatureMap`) need averages of features; orthogonal maps, under kernels that do not change
    under those, the single sum over ``transformation.differences()``; and shifts of padded images or signals only the
    products of the parts of x and the shifted y that overlap.

    Examples
    --------
    >>> from seminorm.invariance import IntegrationKernel, Reflection
    >>> from seminorm.kernels import Gaussian
    >>> kernel = IntegrationKernel(Gaussian(), Reflection(axis=0))
    >>> kernel([[1.0, 2.0], [-1.0, 2.0]]).round(4)
    array([[0.5677, 0.5677],
           [0.5677, 0.5677]])
    """

    differentiability = 0.0  # there are no derivatives here, whatever the base kernel has

    def __init__(self, base: Kernel, transformation: Transformation, simultaneous: bool = False):
        self.base, self.transformation, self.simultaneous = base, transformation, simultaneous

    @property
    def cpd_order(self) -> int:
        """The order of the base kernel, if the transformations keep it."""
        order = self.base.cpd_order
        if order > 1 and not self.transformation.is_affine:
            raise ValueError(
                f"{self.base!r} has order {order}, and the average over {self.transformation!r}, which is not affine, "
                "is conditionally positive definite with respect to averages of polynomials, not to polynomials: use "
                "a base kernel of order 0 or 1 (Gaussian, NegativeDistance, Multiquadric), or the matrix together with "
                "kernel.null_features()."
            )
        return order

    @property
    def null_degree(self) -> int:
        return self.base.null_degree if self.transformation.is_affine else self.cpd_order - 1

    def null_features(self) -> HaarFeatures:
        """Averages of the polynomials of degree ``base.cpd_order - 1``: on their complement the kernel is positive."""
        return HaarFeatures(self.transformation, degree=max(self.base.cpd_order - 1, 0), include_constant=True)

    def for_dimension(self, dimension: int) -> IntegrationKernel:
        if not isinstance(self.base, Kernel):
            raise ValueError(f"base must be a kernel of seminorm, got {self.base!r}.")
        return self._of(self.base.for_dimension(self._set().transformed_size(dimension)))

    accepts_patterns = True

    def patterns(self, X: Any, name: str = "X") -> np.ndarray:
        return super().patterns(self._set().patterns(X, name), name)

    def _set(self) -> Transformation:
        if not isinstance(self.transformation, Transformation):
            raise ValueError(f"transformation must be a Transformation, got {self.transformation!r}.")
        return self.transformation

    def _matrix(self, X: np.ndarray, Y: np.ndarray | None) -> np.ndarray:
        return self._average(X, Y).matrix(X, Y)

    def _diag(self, X: np.ndarray) -> np.ndarray:
        return self._average(X, X).diagonal(X)

    def _average(self, X: np.ndarray, Y: np.ndarray | None) -> _Tiled | _SumOfAverages:
        base = self.base
        if isinstance(base, Sum):
            return _SumOfAverages([self._of(base.first)._average(X, Y), self._of(base.second)._average(X, Y)])
        if isinstance(base, Scaled):
            return _SumOfAverages([self._of(base.kernel)._average(X, Y)], base.factor)
        if self.simultaneous:
            return _Simultaneous(base, self.transformation)
        if isinstance(base, (Linear, FeatureMap)):
            return _AveragedFeatures(base, self.transformation)
        isometric = self.transformation.is_isometric and ROTATION in base.invariances
        differences = self.transformation.differences() if isometric else None
        if differences is None:
            return _Double(base, self.transformation)
        values = base.of_products() if hasattr(self.transformation, "overlap") else None
        if values is None:
            return _Single(base, self.transformation, differences)
        return _Overlaps(values, self.transformation, differences)

    def _of(self, base: Kernel) -> IntegrationKernel:
        return IntegrationKernel(base, self.transformation, self.simultaneous)


class _Tiled:
    """An average of values of a kernel in bounded memory, from ``_tile(left, right)`` for two blocks of patterns."""

    def __init__(self, base: Any, transformation: Transformation, quadrature: Quadrature | None = None):
        self.base, self.transformation = base, transformation
        self.nodes, self.weights = transformation.quadrature() if quadrature is None else quadrature

    def _step(self, X: np.ndarray) -> int:
        """Patterns per block."""
        size = self.transformation.transformed_size(X.shape[1])
        return max(1, min(self._largest_step(), _MOVED_VALUES // (size * len(self.weights))))

    def _largest_step(self) -> int:
        return int(math.sqrt(_TILE_VALUES)) // len(self.weights)

    def _moved(self, X: np.ndarray) -> Any:
        return self.transformation.apply(X, self.nodes)

    #: what a block of rows and a block of columns of the matrix need to know about their patterns
    _left = _right = _moved

    def _tile(self, left: Any, right: Any) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not define _tile(left, right).")

    def _unmoved(self, X: np.ndarray) -> np.ndarray:
        return self.transformation.apply(X, self.transformation.identity[None])[0]

    def matrix(self, X: np.ndarray, Y: np.ndarray | None) -> np.ndarray:
        step, copies = self._step(X), len(self.weights)
        left, right = _blocks(self._left, X, step, copies), _blocks(self._right, X if Y is None else Y, step, copies)

        def tile_of(rows: slice, columns: slice) -> np.ndarray:
            tile = self._tile(left(rows.start), right(columns.start))
            return (tile + tile.T) / 2 if Y is None and rows == columns else tile

        return tiled(tile_of, len(X), None if Y is None else len(Y), side=step, for_each=self._for_each)

    _for_each: ForEach | None = None  #: on threads where that pays

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        step = self._step(X)
        blocks = (X[i : i + step] for i in range(0, len(X), step))
        return np.concatenate([self._diagonal_of(self._left(block), self._right(block)) for block in blocks])

    def _diagonal_of(self, left: Any, right: Any) -> np.ndarray:
        pairs = ((left[..., i : i + 1, :], right[..., i : i + 1, :]) for i in range(left.shape[-2]))
        return np.array([self._tile(x, y)[0, 0] for x, y in pairs])


def _blocks(compute: Callable[[np.ndarray], Any], X: np.ndarray, step: int, copies: int) -> Callable[[int], Any]:
    """Transformed blocks of patterns by their start, on demand; all are kept if they fit, otherwise the last one."""
    kept = None if X.size * copies <= _KEPT_VALUES else 1
    return lru_cache(kept)(lambda start: compute(X[start : start + step]))


class _Double(_Tiled):
    """The sum over all pairs of transformations, for any kernel."""

    def _tile(self, left: Any, right: Any) -> np.ndarray:
        (m, n, d), (k, p, _) = left.shape, right.shape
        values = self.base._matrix(left.reshape(m * n, d), right.reshape(k * p, d))
        return self.weights @ (self.weights @ values.reshape(m, -1)).reshape(n, k, p)


class _Single(_Tiled):
    """The sum over differences of orthogonal maps: k(t x, t' y) = k(x, t^-1 t' y)."""

    def _largest_step(self) -> int:
        return int(math.sqrt(_TILE_VALUES / len(self.weights)))

    def _left(self, X: np.ndarray) -> np.ndarray:
        return self._unmoved(X)

    def _tile(self, left: Any, right: Any) -> np.ndarray:
        k, p, d = right.shape
        return self.weights @ self.base._matrix(left, right.reshape(k * p, d)).reshape(len(left), k, p)


class _Simultaneous(_Tiled):
    """The sum over transformations of both patterns together."""

    def _largest_step(self) -> int:
        return _LARGEST_TILE

    def _diagonal_of(self, left: Any, right: Any) -> np.ndarray:
        return sum(weight * self.base._diag(X) for weight, X in zip(self.weights, left, strict=True))

    def _tile(self, left: Any, right: Any) -> np.ndarray:
        return sum(weight * self.base._matrix(X, Y) for weight, X, Y in zip(self.weights, left, right, strict=True))


class _AveragedFeatures(_Tiled):
    """<mean of features(t x), mean of features(t' y)>."""

    def _features(self, X: np.ndarray) -> np.ndarray:
        step = max(1, _TILE_VALUES // (self.transformation.transformed_size(X.shape[1]) * len(self.weights)))
        return np.concatenate([self._mean(X[i : i + step]) for i in range(0, len(X), step)])

    def _mean(self, X: np.ndarray) -> np.ndarray:
        moved = self._moved(X)
        if isinstance(self.base, FeatureMap):
            m, n, d = moved.shape
            moved = self.base._features(moved.reshape(m * n, d), self.base._factor).reshape(m, n, -1)
        return np.tensordot(self.weights, moved, axes=1)

    def matrix(self, X: np.ndarray, Y: np.ndarray | None) -> np.ndarray:
        left = self._features(X)
        return left @ (left if Y is None else self._features(Y)).T

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        return (self._features(X) ** 2).sum(axis=1)


class _Overlaps(_Tiled):
    """The sum over shifts, from products of the parts in which x and the shifted y overlap; ``base`` is the kernel as a
    function of products and squared distances.

    |x - s y|^2 = |x|^2 + |y|^2 - 2 <x, s y> loses digits where the two are close: those few pairs are computed again
    from differences.
    """

    def _step(self, X: np.ndarray) -> int:
        return _OVERLAP_TILE

    @staticmethod
    def _for_each(work: Callable[[Tile], None], items: list[Tile]) -> None:
        """On as many threads as BLAS may use, each with its own single-threaded BLAS: the same bits for any number."""
        threads = max([pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"], default=1)
        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(min(threads, len(items))) as pool:
            for _ in pool.map(work, items):
                pass

    def _left(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return X, np.einsum("ij,ij->i", X, X)

    _right = _left

    def _tile(self, left: Any, right: Any) -> np.ndarray:
        (X, lengths_x), (Y, lengths_y) = left, right
        return self._sum(X, Y, lengths_x[:, None] + lengths_y, lambda here, there: here @ there.T, np.nonzero)

    def _diagonal_of(self, left: Any, right: Any) -> np.ndarray:
        X, lengths = left
        products = lambda here, there: np.einsum("ij,ij->i", here, there)  # noqa: E731
        return self._sum(X, X, 2.0 * lengths, products, lambda close: np.nonzero(close) * 2)

    def _sum(
        self, X: np.ndarray, Y: np.ndarray, lengths: np.ndarray, multiply: Callable, pairs: Callable
    ) -> np.ndarray:
        total = np.zeros_like(lengths)
        for weight, difference in zip(self.weights, self.nodes, strict=True):
            products = multiply(*self.transformation.overlap(X, Y, difference))
            distances = lengths - 2.0 * products
            close = distances < _CANCELLATION * lengths
            if close.any():
                distances[close] = self._distances(X, Y, difference, *pairs(close))
            values = self.base(products, distances)
            values *= weight
            total += values
        return total

    def _distances(self, X: np.ndarray, Y: np.ndarray, shift: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> Any:
        """|x - s y|^2 of some pairs, from differences."""
        needed, where = np.unique(columns, return_inverse=True)
        shifted = self.transformation.apply(Y[needed], shift[None])[0]
        step = max(1, _TILE_VALUES // shifted.shape[1])
        result = np.empty(len(rows))
        for i in range(0, len(rows), step):
            some = slice(i, i + step)
            apart = self._unmoved(X[rows[some]]) - shifted[where[some]]
            result[some] = np.einsum("ij,ij->i", apart, apart)
        return result


class _SumOfAverages:
    """Averages are linear in the kernel."""

    def __init__(self, averages: list[_Tiled | _SumOfAverages], factor: float = 1.0):
        self.averages, self.factor = averages, factor

    def matrix(self, X: np.ndarray, Y: np.ndarray | None) -> np.ndarray:
        return self.factor * reduce(np.add, [average.matrix(X, Y) for average in self.averages])

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        return self.factor * reduce(np.add, [average.diagonal(X) for average in self.averages])
