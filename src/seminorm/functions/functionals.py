"""Linear functionals: values, derivatives, their sums and averages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .._base.patterns import as_points

_METHODS = ("__call__", "gradient", "hessian")


class Term(NamedTuple):
    """Combinations of all derivatives of one order at points: a part of a :class:`Functional`."""

    points: Any  # array or sparse matrix (m, d)
    derivative: int  # order of the derivatives
    matrix: Any = None  # array or sparse matrix (size, m * d**derivative); None is the identity

    @property
    def width(self) -> int:
        """Number of derivatives: of columns of the matrix."""
        return self.points.shape[0] * self.points.shape[1] ** self.derivative

    @property
    def size(self) -> int:
        """Number of combinations: of rows of the matrix."""
        return self.width if self.matrix is None else self.matrix.shape[0]

    def combine(self, derivatives: np.ndarray) -> np.ndarray:
        """Apply the matrix to an array whose first axis lists the derivatives."""
        return derivatives if self.matrix is None else self.matrix @ derivatives

    def spread(self, coefficients: np.ndarray) -> np.ndarray:
        """Coefficients of the functionals (size, k) as coefficients of the derivatives, (m,) + (d,) * order + (k,)."""
        spread = coefficients if self.matrix is None else self.matrix.T @ coefficients
        shape = (self.points.shape[0],) + (self.points.shape[1],) * self.derivative
        return spread.reshape(*shape, coefficients.shape[1])

    def mapped(self, matrix) -> Term:
        """The term whose combinations are those of ``matrix`` among the combinations here."""
        return Term(self.points, self.derivative, matrix if self.matrix is None else matrix @ self.matrix)


class Functional:
    """Linear functionals of a function: sums of combinations of its derivatives at points.

    (L f)_i = sum_j matrix[i, j] D_j, where D lists the derivatives of the given order at the points (values for order
    0; for order 1 all d components of the first point, then of the second, ...). Functionals of the same size can be
    added, also those of different orders and points, and multiplied by one number, or by one number per functional;
    ``matrix @ functional`` combines them, ``functional[rows]`` chooses some of them. :meth:`values`, :meth:`gradients`,
    :meth:`along`, :meth:`average`, :meth:`cell_average`, :meth:`line_average` and :meth:`line_integral` make the usual
    ones.

    Parameters
    ----------
    points : array (m, d)
    derivative : int
        0 for values, 1 for gradients, 2 for second derivatives.
    matrix : array or sparse matrix (size, m * d**derivative), optional
        The combinations; left out, every derivative is a functional of its own.

    Attributes
    ----------
    terms : tuple of Term
        The summands: points, order of the derivatives, matrix.

    See Also
    --------
    seminorm.Smoother, seminorm.FieldSmoother : their ``fit`` takes observed functionals.

    Examples
    --------
    The boundary condition 2 f + df/dn at two points, and the mean over a square:

    >>> from seminorm.functions import Functional
    >>> X, normals = [[0.0, 0.5], [1.0, 0.5]], [[-1.0, 0.0], [1.0, 0.0]]
    >>> 2 * Functional.values(X) + Functional.along(X, normals)
    <Functional of size 2 in 2 dimensions: order 0 at 2 points + order 1 at 2 points>
    >>> Functional.cell_average([[0.0, 0.0]], [[1.0, 1.0]]).apply(lambda x: x[:, 0] ** 2).round(12)
    array([0.33333333])
    """

    __array_ufunc__ = None  # so that array * functional asks the functional

    def __init__(self, points, derivative: int = 0, matrix=None):
        points = as_points(points)
        if points.ndim != 2:
            raise ValueError(f"points must have shape (m, d), got {points.shape}.")
        if not sparse.issparse(matrix) and matrix is not None:
            matrix = np.asarray(matrix, dtype=float)
        term = Term(points, derivative, matrix)
        if matrix is not None and (matrix.ndim != 2 or matrix.shape[1] != term.width):
            raise ValueError(
                f"matrix must have {term.width} columns, one for each derivative of order {derivative} at each point, "
                f"got shape {matrix.shape}."
            )
        self.terms: tuple[Term, ...] = (term,)

    def __repr__(self) -> str:
        parts = (f"order {term.derivative} at {term.points.shape[0]} points" for term in self.terms)
        return f"<Functional of size {self.size} in {self.dimension} dimensions: {' + '.join(parts)}>"

    @classmethod
    def _of(cls, terms: Sequence[Term]) -> Functional:
        functional = cls.__new__(cls)
        functional.terms = tuple(terms)
        return functional

    @property
    def size(self) -> int:
        """The number of functionals."""
        return self.terms[0].size

    @property
    def dimension(self) -> int:
        """Number of coordinates of the points."""
        return self.terms[0].points.shape[1]

    @property
    def derivative(self) -> int:
        """The highest order of the derivatives."""
        return max(term.derivative for term in self.terms)

    @property
    def points(self):
        """The points of all terms, one term after the other (m, d)."""
        if len(self.terms) == 1:
            return self.terms[0].points
        points = [term.points for term in self.terms]
        return sparse.vstack(points, format="csr") if any(map(sparse.issparse, points)) else np.concatenate(points)

    @classmethod
    def values(cls, X) -> Functional:
        """The value at each point of X (n, d)."""
        return cls(X)

    @classmethod
    def gradients(cls, X, observed: ArrayLike | None = None) -> Functional:
        """The components of the gradient at the points, or those of them that ``observed`` (n, d) marks.

        All components of the first point come first.
        """
        if observed is None or np.all(observed):
            return cls(X, 1)
        return cls(X, 1)[np.flatnonzero(observed)]

    @classmethod
    def along(cls, X: ArrayLike, directions: ArrayLike) -> Functional:
        """The derivative at each point of X (n, d) along vectors of any length, one for all (d,) or one each (n, d)."""
        X = _points(X)
        n, d = X.shape
        try:
            slopes = np.broadcast_to(np.asarray(directions, dtype=float), (n, d))
        except ValueError:
            raise ValueError(
                f"directions must have shape ({d},) or ({n}, {d}), got {np.shape(directions)}: one for all points, or "
                "one for each."
            ) from None
        columns = np.arange(n * d)
        return cls(X, 1, sparse.csr_array((slopes.reshape(-1), (columns // d, columns)), shape=(n, n * d)))

    @classmethod
    def average(cls, X: ArrayLike, groups: ArrayLike | None = None, weights: ArrayLike | None = None) -> Functional:
        """Means of the values over groups of points (n, d), as many functionals as groups.

        Parameters
        ----------
        groups : int array (n,), optional
            The group of each point, from 0 on; left out, one mean over all points.
        weights : array (n,), optional
            Not negative; the mean is sum w_i f(x_i) / sum w_i over the group.

        Examples
        --------
        >>> Functional.average([[0.0], [1.0], [5.0], [7.0]], [0, 0, 1, 1]).apply(lambda x: x[:, 0])
        array([0.5, 6. ])
        """
        X = _points(X)
        n = len(X)
        numbers = np.zeros(n, dtype=np.int64) if groups is None else np.asarray(groups)
        if numbers.shape != (n,) or numbers.dtype.kind not in "iu" or numbers.min(initial=0) < 0:
            raise ValueError(f"groups must be {n} integers from 0 on, one per point, got {groups!r}.")
        share = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
        if share.shape != (n,) or not (np.isfinite(share).all() and (share >= 0).all()):
            raise ValueError(f"weights must be {n} finite numbers, not negative, one per point.")
        total = np.bincount(numbers, share)
        if n == 0 or (total <= 0).any():
            empty = np.flatnonzero(total <= 0)
            raise ValueError(f"groups must have points with weight in each, got none in the groups {empty.tolist()}.")
        return cls(X, 0, sparse.csr_array((share / total[numbers], (numbers, np.arange(n))), shape=(len(total), n)))

    @classmethod
    def cell_average(cls, low: ArrayLike, high: ArrayLike, n_nodes: int = 3) -> Functional:
        """Means over boxes with corners (n, d), by Gauss-Legendre quadrature: exact to degree 2 n_nodes - 1."""
        low, high = np.broadcast_arrays(_points(low, "low"), _points(high, "high"))
        if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
            raise ValueError("low must be below high in every coordinate of every box, and both finite.")
        if n_nodes < 1:
            raise ValueError(f"n_nodes must be at least 1, got {n_nodes!r}.")
        n, d = low.shape
        nodes, weights = box_quadrature(d, n_nodes)
        points = (low[:, None] + (high - low)[:, None] * nodes).reshape(-1, d)
        return cls.average(points, np.repeat(np.arange(n), len(nodes)), np.tile(weights, n))

    @classmethod
    def line_average(cls, start: ArrayLike, end: ArrayLike, n_nodes: int = 8) -> Functional:
        """Means along straight lines between points (n, d), by Gauss-Legendre quadrature: exact to degree 2 n_nodes - 1
        along each line. Lines that cross many bumps of the function need more nodes, a few for each bump.
        """
        start, end = np.broadcast_arrays(_points(start, "start"), _points(end, "end"))
        if not (np.isfinite(start).all() and np.isfinite(end).all()):
            raise ValueError("start and end must be finite.")
        if n_nodes < 1:
            raise ValueError(f"n_nodes must be at least 1, got {n_nodes!r}.")
        n, d = start.shape
        nodes, weights = box_quadrature(1, n_nodes)
        points = (start[:, None] + (end - start)[:, None] * nodes).reshape(-1, d)
        return cls.average(points, np.repeat(np.arange(n), n_nodes), np.tile(weights, n))

    @classmethod
    def line_integral(cls, start: ArrayLike, end: ArrayLike, n_nodes: int = 8) -> Functional:
        """Integrals over the arc length along straight lines between points (n, d), such as travel times of rays
        through a field of slowness: :meth:`line_average` times the lengths.

        Examples
        --------
        >>> Functional.line_integral([[0.0, 0.0]], [[3.0, 4.0]]).apply(lambda x: x[:, 0] * x[:, 1]).round(12)
        array([20.])
        """
        lengths = np.linalg.norm(
            np.subtract(*np.broadcast_arrays(_points(end, "end"), _points(start, "start"))), axis=1
        )
        return cls.line_average(start, end, n_nodes) * lengths

    @classmethod
    def stack(cls, functionals: Sequence[Functional]) -> Functional:
        """All functionals of a sequence as one, in their order."""
        functionals = list(functionals)
        if len(functionals) == 1:
            return functionals[0]
        ends = np.cumsum([functional.size for functional in functionals])
        terms: list[Term] = []
        for functional, end in zip(functionals, ends.tolist(), strict=True):
            rows = sparse.eye_array(ends[-1], functional.size, k=functional.size - end, format="csr")
            terms += (term.mapped(rows) for term in functional.terms)
        return cls._of(terms)

    def __add__(self, other: Functional) -> Functional:
        if not isinstance(other, Functional):
            return NotImplemented
        if (self.size, self.dimension) != (other.size, other.dimension):
            raise ValueError(
                f"only functionals of the same size and dimension can be added, got sizes {self.size} and "
                f"{other.size} in {self.dimension} and {other.dimension} dimensions."
            )
        return self._of(self.terms + other.terms)

    def __neg__(self) -> Functional:
        return self * -1.0

    def __sub__(self, other: Functional) -> Functional:
        return self + (-other) if isinstance(other, Functional) else NotImplemented

    def __mul__(self, factor: ArrayLike) -> Functional:
        factors = np.asarray(factor, dtype=float)
        if factors.shape not in ((), (self.size,)):
            raise ValueError(f"a factor must be one number or {self.size}, one per functional, got {factors.shape}.")
        return sparse.diags_array(np.broadcast_to(factors, (self.size,)), format="csr") @ self

    __rmul__ = __mul__

    def __truediv__(self, divisor: ArrayLike) -> Functional:
        return self * (1.0 / np.asarray(divisor, dtype=float))

    def __rmatmul__(self, matrix) -> Functional:
        matrix = matrix if sparse.issparse(matrix) else np.asarray(matrix, dtype=float)
        if matrix.ndim != 2 or matrix.shape[1] != self.size:
            raise ValueError(f"matrix must have {self.size} columns, one per functional, got shape {matrix.shape}.")
        return self._of([term.mapped(matrix) for term in self.terms])

    def __getitem__(self, rows) -> Functional:
        chosen = np.atleast_1d(np.arange(self.size)[rows])
        return sparse.eye_array(self.size, format="csr")[chosen] @ self

    def apply(self, function) -> np.ndarray:
        """The functionals (size,), or (size, k), of a function with one or k outputs: a callable that takes points (n,
        d), and has ``gradient`` and ``hessian`` if the functionals need them.
        """
        total: np.ndarray | None = None
        for term in self.terms:
            name = _METHODS[term.derivative]
            method = getattr(function, name, None)
            if method is None:
                raise ValueError(f"the functional needs function.{name}, and {function!r} has none.")
            derivatives = np.asarray(method(term.points))
            several = derivatives.ndim == 2 + term.derivative
            if several:
                derivatives = np.moveaxis(derivatives, 1, -1)
            image = term.combine(derivatives.reshape(term.width, *derivatives.shape[-1:] if several else ()))
            total = image if total is None else total + image
        assert total is not None  # there is at least one term
        return total

    def content(self) -> dict:
        """What a file holds; :meth:`from_content` reads it."""
        return {"terms": [term._asdict() for term in self.terms]}

    @classmethod
    def from_content(cls, content: dict) -> Functional:
        """The functional of a file; files of format 1 hold a single term without a list."""
        parts = [cls(**term) for term in content.get("terms", [content])]
        return cls._of([part.terms[0] for part in parts])


class ObservedFunctionals(NamedTuple):
    """Functionals with targets (size, k) and positive weights (size,), one over the noise variance of each."""

    functional: Functional
    targets: np.ndarray
    weights: np.ndarray


def box_quadrature(dimension: int, n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (n_nodes**d, d) in the unit cube and weights of the Gauss-Legendre rule; the weights sum to one."""
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    points = np.stack(np.meshgrid(*[(nodes + 1) / 2] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    products = np.stack(np.meshgrid(*[weights / 2] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    return points, products.prod(axis=1)


def _points(X: ArrayLike, name: str = "X") -> np.ndarray:
    X = np.asarray(X, dtype=float)
    if X.ndim != 2:
        raise ValueError(f"{name} must have shape (n, d), got {X.shape}.")
    return X
