"""Transformation integration kernels: a kernel averaged over the transformations of both patterns."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from ..kernels.algebra import Scaled, Sum
from ..kernels.base import ROTATION, Kernel
from ..kernels.dot_product import FeatureMap, Linear
from .products import of_products
from .transformations.base import Quadrature, Transformation

_TILE_VALUES = 2**21  # kernel values at a time
_KEPT_VALUES = 2**24  # numbers of transformed patterns that are kept between tiles
_MOVED_VALUES = 2**24  # numbers of transformed patterns in a block
_LARGEST_TILE = 512
_OVERLAP_TILE = 256
_CANCELLATION = 1e-3


class IntegrationKernel(Kernel):
    """The average of k(t x, t' y) over all pairs of transformations t, t' (seed 002, definition 8).

    If the transformations are a group with its invariant measure, the kernel does not change when a pattern is
    transformed; otherwise it changes less than k. A positive definite k gives a positive definite kernel, a k of order
    1 one of order 1. Higher orders are kept by affine transformations only: under others (a shift along a curve, line
    thickness) the kernel is conditionally positive definite with respect to the *averages* of the polynomials,
    :meth:`null_features`, and :attr:`order` raises an error that says so.

    Parameters
    ----------
    base : Kernel
        Any kernel k.
    transformation : Transformation
        The set T, with the nodes and weights of its average.
    simultaneous : bool
        Average k(t x, t y) over t instead: what does not change when all patterns are transformed together (proposition
        13).

    Notes
    -----
    The matrix is computed tile by tile in bounded memory. Three cases need less than the double sum and give the same
    numbers: a kernel with explicit features (:class:`Linear`, :class:`FeatureMap`) needs averages of features;
    orthogonal maps, under kernels that do not change under those, need the single sum over
    ``transformation.differences()``; and shifts of padded images or signals need only the products of the parts in
    which x and the shifted y overlap.

    Examples
    --------
    >>> from seminorm.invariance import IntegrationKernel, Reflection
    >>> from seminorm.kernels import Gaussian
    >>> kernel = IntegrationKernel(Gaussian(), Reflection(axis=0))
    >>> kernel([[1.0, 2.0], [-1.0, 2.0]]).round(4)
    array([[0.5677, 0.5677],
           [0.5677, 0.5677]])
    """

    def __init__(self, base: Kernel, transformation: Transformation, simultaneous: bool = False):
        self.base = base
        self.transformation = transformation
        self.simultaneous = simultaneous

    @classmethod
    def examples(cls):
        from ..kernels.conditional_radial import NegativeDistance, ThinPlate
        from ..kernels.positive_radial import Gaussian
        from .transformations.finite import Reflection
        from .transformations.vectors import Scaling

        return [
            cls(Gaussian(), Reflection(0)),
            cls(NegativeDistance(1.0), Scaling(0.3, n_nodes=3)),
            cls(ThinPlate(), Scaling(0.3, n_nodes=3)),
        ]

    @property
    def order(self) -> int:
        order = self.base.order
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
        return self.base.null_degree if self.transformation.is_affine else self.order - 1

    @property
    def is_indefinite(self) -> bool:
        return self.base.is_indefinite

    @property
    def smoothness(self) -> float:
        return 0.0  # no derivatives, whatever the base kernel has

    @property
    def max_dimension(self) -> float:
        return self.base.max_dimension

    def null_features(self):
        """The polynomials of degree order - 1 of the base kernel, averaged over the transformations: a transformer.

        The kernel is positive on coefficients orthogonal to these features, for all transformations.
        """
        from .haar import HaarFeatures

        return HaarFeatures(self.transformation, degree=max(self.base.order - 1, 0), include_constant=True)

    def for_dimension(self, dimension):
        if not isinstance(self.base, Kernel):
            raise ValueError(f"base must be a kernel of seminorm, got {self.base!r}.")
        if not isinstance(self.transformation, Transformation):
            raise ValueError(f"transformation must be a Transformation, got {self.transformation!r}.")
        settled = self.base.for_dimension(self.transformation.transformed_size(dimension))
        return IntegrationKernel(settled, self.transformation, self.simultaneous)

    def _check_points(self, X, Y):
        if not isinstance(self.transformation, Transformation):
            raise ValueError(f"transformation must be a Transformation, got {self.transformation!r}.")
        flatten = self.transformation.patterns
        return super()._check_points(flatten(X), None if Y is None else flatten(Y))

    def _matrix(self, X, Y):
        return self._average(X, Y).matrix(X, Y)

    def _diag(self, X):
        return self._average(X, X).diagonal(X)

    def _average(self, X, Y) -> _Average:
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
        values = of_products(base) if hasattr(self.transformation, "overlap") else None
        if values is None:
            return _Single(base, self.transformation, differences)
        return _Overlaps(values, self.transformation, differences)

    def _of(self, base: Kernel) -> IntegrationKernel:
        return IntegrationKernel(base, self.transformation, self.simultaneous)


class _Average:
    """One way to compute the average, from ``_tile(left, right)`` for two blocks of patterns."""

    def __init__(self, base: Kernel, transformation: Transformation, quadrature: Quadrature | None = None):
        self.base = base
        self.transformation = transformation
        self.nodes, self.weights = transformation.quadrature() if quadrature is None else quadrature

    def _step(self, X) -> int:
        """Patterns in a block."""
        size = self.transformation.transformed_size(X.shape[1])
        return max(1, min(self._largest_step(), _MOVED_VALUES // (size * len(self.weights))))

    def _largest_step(self) -> int:
        return int(math.sqrt(_TILE_VALUES)) // len(self.weights)

    def _left(self, X) -> np.ndarray:
        """What a block of rows of the matrix needs to know of its patterns."""
        return self._moved(X)

    def _right(self, X) -> np.ndarray:
        """The same for columns."""
        return self._moved(X)

    def _tile(self, left, right) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not define _tile(left, right).")

    def _moved(self, X) -> np.ndarray:
        return self.transformation.apply(X, self.nodes)

    def _unmoved(self, X) -> np.ndarray:
        return self.transformation.apply(X, self.transformation.identity[None])[0]

    def matrix(self, X, Y) -> np.ndarray:
        symmetric = Y is None
        Y = X if symmetric else Y
        step = self._step(X)
        matrix = np.empty((len(X), len(Y)))
        left, right = _Blocks(self._left, X, step, len(self.weights)), _Blocks(self._right, Y, step, len(self.weights))

        def fill(corner):
            i, j = corner
            rows, columns = slice(i, i + step), slice(j, j + step)
            tile = self._tile(left[i], right[j])
            if symmetric and i == j:
                tile = (tile + tile.T) / 2
            elif symmetric:
                matrix[columns, rows] = tile.T
            matrix[rows, columns] = tile

        corners = [(i, j) for i in range(0, len(X), step) for j in range(i if symmetric else 0, len(Y), step)]
        self._for_each(fill, corners)
        return matrix

    def _for_each(self, work, items) -> None:
        for item in items:
            work(item)

    def diagonal(self, X) -> np.ndarray:
        step = self._step(X)
        blocks = (X[i : i + step] for i in range(0, len(X), step))
        return np.concatenate([self._diagonal_of(self._left(block), self._right(block)) for block in blocks])

    def _diagonal_of(self, left, right) -> np.ndarray:
        pairs = ((left[..., i : i + 1, :], right[..., i : i + 1, :]) for i in range(left.shape[-2]))
        return np.array([self._tile(x, y)[0, 0] for x, y in pairs])


class _Blocks:
    """Transformed blocks of patterns, computed when asked for; all are kept if they fit, else the last one."""

    def __init__(self, compute, X: np.ndarray, step: int, copies: int):
        self.compute, self.X, self.step = compute, X, step
        self.keep_all = X.size * copies <= _KEPT_VALUES
        self.kept = {}

    def __getitem__(self, start: int):
        block = self.kept.get(start)
        if block is None:
            block = self.compute(self.X[start : start + self.step])
            self.kept = {**self.kept, start: block} if self.keep_all else {start: block}
        return block


class _Double(_Average):
    """The sum over all pairs of transformations, for any kernel."""

    def _tile(self, left, right):
        (m, n, d), (k, p, _) = left.shape, right.shape
        values = self.base._matrix(left.reshape(m * n, d), right.reshape(k * p, d))
        return self.weights @ (self.weights @ values.reshape(m, -1)).reshape(n, k, p)


class _Single(_Average):
    """The sum over differences of orthogonal maps: k(t x, t' y) = k(x, t^-1 t' y)."""

    def __init__(self, base, transformation, differences):
        super().__init__(base, transformation, differences)

    def _largest_step(self):
        return int(math.sqrt(_TILE_VALUES / len(self.weights)))

    def _left(self, X):
        return self._unmoved(X)

    def _tile(self, left, right):
        k, p, d = right.shape
        return self.weights @ self.base._matrix(left, right.reshape(k * p, d)).reshape(len(left), k, p)


class _Simultaneous(_Average):
    """The sum over transformations of both patterns together."""

    def _largest_step(self):
        return _LARGEST_TILE

    def _diagonal_of(self, left, right):
        return sum(weight * self.base._diag(X) for weight, X in zip(self.weights, left, strict=True))

    def _tile(self, left, right):
        return sum(weight * self.base._matrix(X, Y) for weight, X, Y in zip(self.weights, left, right, strict=True))


class _AveragedFeatures(_Average):
    """<mean of features(t x), mean of features(t' y)>."""

    def _features(self, X) -> np.ndarray:
        step = max(1, _TILE_VALUES // (self.transformation.transformed_size(X.shape[1]) * len(self.weights)))
        return np.concatenate([self._mean(X[i : i + step]) for i in range(0, len(X), step)])

    def _mean(self, X) -> np.ndarray:
        moved = self._moved(X)
        if isinstance(self.base, FeatureMap):
            m, n, d = moved.shape
            moved = self.base._features(moved.reshape(m * n, d), self.base._factor).reshape(m, n, -1)
        return np.tensordot(self.weights, moved, axes=1)

    def matrix(self, X, Y):
        left = self._features(X)
        return left @ (left if Y is None else self._features(Y)).T

    def diagonal(self, X):
        return (self._features(X) ** 2).sum(axis=1)


class _Overlaps(_Average):
    """The sum over shifts, from products of the parts in which x and the shifted y overlap.

    |x - s y|^2 = |x|^2 + |y|^2 - 2 <x, s y> loses digits where the two are close: those few are computed again from
    differences.
    """

    def __init__(self, values, transformation, differences):
        super().__init__(None, transformation, differences)
        self.values = values

    def _step(self, X):
        return _OVERLAP_TILE

    def _for_each(self, work, items):
        """On as many threads as BLAS may use, each with a BLAS of its own: the same bits for any number of them."""
        pools = threadpool_info()
        threads = max([pool["num_threads"] for pool in pools if pool["user_api"] == "blas"], default=1)
        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(min(threads, len(items))) as pool:
            for _ in pool.map(work, items):
                pass

    def _left(self, X):
        return X, np.einsum("ij,ij->i", X, X)

    _right = _left

    def _tile(self, left, right):
        (X, lengths_x), (Y, lengths_y) = left, right
        return self._sum(X, Y, lengths_x[:, None] + lengths_y, lambda here, there: here @ there.T, np.nonzero)

    def _diagonal_of(self, left, right):
        X, lengths = left
        products = lambda here, there: np.einsum("ij,ij->i", here, there)  # noqa: E731
        return self._sum(X, X, 2.0 * lengths, products, lambda close: np.nonzero(close) * 2)

    def _sum(self, X, Y, lengths, multiply, pairs_of) -> np.ndarray:
        total = np.zeros_like(lengths)
        for weight, difference in zip(self.weights, self.nodes, strict=True):
            products = multiply(*self.transformation.overlap(X, Y, difference))
            distances = lengths - 2.0 * products
            close = distances < _CANCELLATION * lengths
            if close.any():
                distances[close] = self._distances(X, Y, difference, *pairs_of(close))
            values = self.values(products, distances)
            values *= weight
            total += values
        return total

    def _distances(self, X, Y, difference, rows, columns) -> np.ndarray:
        """|x - s y|^2 of some pairs, from differences."""
        needed, where = np.unique(columns, return_inverse=True)
        shifted = self.transformation.apply(Y[needed], difference[None])[0]
        step = max(1, _TILE_VALUES // shifted.shape[1])
        result = np.empty(len(rows))
        for i in range(0, len(rows), step):
            some = slice(i, i + step)
            apart = self._unmoved(X[rows[some]]) - shifted[where[some]]
            result[some] = np.einsum("ij,ij->i", apart, apart)
        return result


class _SumOfAverages:
    """Averages are linear in the kernel."""

    def __init__(self, averages: list, factor: float = 1.0):
        self.averages, self.factor = averages, factor

    def matrix(self, X, Y):
        return self.factor * sum(average.matrix(X, Y) for average in self.averages)

    def diagonal(self, X):
        return self.factor * sum(average.diagonal(X) for average in self.averages)
