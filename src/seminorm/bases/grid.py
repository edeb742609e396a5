"""Tensor-product B-splines on one uniform grid, as sparse matrices.

A small companion of the multilevel fields, for problems that are not least squares: quadratic forms are assembled and
combined at will.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import product
from math import factorial, prod

import numpy as np
from scipy import sparse

from .box import GridBox
from .bsplines import cell_products, check_order, derivative_pieces, refinement_table


class GridBasis:
    """The B-splines of a uniform grid over a box, in 1 to 4 dimensions.

    Lengths in all matrices are those of the box: the user's, divided by the scale of each axis. Functions are numbered
    in row-major order, ``shape`` of them along the axes.

    Parameters
    ----------
    box : GridBox
    degree : int

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.bases import GridBasis, GridBox
    >>> basis = GridBasis(GridBox([0.0, 0.0], [1.0, 1.0], 0.25, [4, 4]), degree=2)
    >>> basis.size, float(basis.values(np.array([[0.3, 0.6]])).sum().round(6))
    (36, 1.0)

    See Also
    --------
    seminorm.fields.Field.on_grid : The function with given coefficients.
    """

    def __init__(self, box: GridBox, degree: int = 2):
        self.box, self.degree = box, degree
        self.shape = tuple(int(n) + degree for n in box.cells)
        self.size = prod(self.shape)

    @classmethod
    def around(cls, points: np.ndarray, cells: int, *, margin: float, degree: int = 2) -> GridBasis:
        """A grid around points: ``cells`` along the longest side of the data, in whose units it measures, and
        ``margin`` times that side beyond. The number of cells along each axis is a multiple of 8, so that the grid can
        be coarsened.
        """
        low, high = points.min(axis=0), points.max(axis=0)
        size = float((high - low).max())
        needed = np.ceil(cells * ((high - low) / size + 2 * margin)).astype(np.int64)
        needed = 8 * -(-needed // 8)
        scale = np.full(len(low), size)
        return cls(GridBox((low + high) / 2 - needed / cells * scale / 2, scale, 1.0 / cells, needed), degree)

    @property
    def dimension(self) -> int:
        """Number of axes."""
        return self.box.dimension

    def values(self, X: np.ndarray) -> sparse.csr_array:
        """The functions at points of the box, (n, size): row i holds the values at point i."""
        return self._design(X, [0] * self.dimension)

    def gradients(self, X: np.ndarray) -> list[sparse.csr_array]:
        """The derivatives along each axis at points of the box, one matrix (n, size) per axis."""
        return [self._design(X, row) for row in np.eye(self.dimension, dtype=int)]

    def products(self) -> sparse.csr_array:
        """The integrals over the box of the products of all functions, (size, size)."""
        return self.energy(0)

    def solve_products(self, right: np.ndarray) -> np.ndarray:
        """The inverse of :meth:`products`, applied to a vector: axis by axis."""
        x = np.asarray(right).reshape(self.shape)
        for axis, n in enumerate(self.box.cells):
            line = self._line(int(n), 0).toarray()
            front = np.moveaxis(x, axis, 0)
            x = np.moveaxis(np.linalg.solve(line, front.reshape(len(line), -1)).reshape(front.shape), 0, axis)
        return x.ravel() / self.box.spacing**self.dimension

    def energy(self, order: int) -> sparse.csr_array:
        """The squared semi-norm of an order, the squared derivatives integrated over the box, as a matrix."""
        check_order(self.degree, order)
        lines = [[self._line(n, k) for k in range(order + 1)] for n in self.box.cells]
        total = sparse.csr_array((self.size, self.size))
        for orders in product(range(order + 1), repeat=self.dimension):
            if sum(orders) != order:
                continue
            weight = factorial(order) / prod(factorial(k) for k in orders)
            total = total + weight * _kronecker([line[k] for line, k in zip(lines, orders, strict=True)])
        return sparse.csr_array(total * self.box.spacing ** (self.dimension - 2 * order))

    def coarser(self) -> GridBasis:
        """The basis with cells twice as wide; the number of cells must be even along every axis."""
        if (self.box.cells % 2).any():
            raise ValueError(f"a grid of {self.box.cells.tolist()} cells has none of half as many.")
        box = self.box
        return GridBasis(GridBox(box.low, box.scale, 2.0 * box.spacing, box.cells // 2), self.degree)

    def refinement(self) -> sparse.csr_array:
        """Coefficients of the coarser basis as coefficients of this one: (size, size of the coarser)."""
        q = self.degree
        lines = [sparse.csr_array(refinement_table(n // 2 + q, n + q, q).T) for n in self.box.cells]
        return sparse.csr_array(_kronecker(lines))

    def refinements(self, coarsest: int = 1500) -> Iterator[sparse.csr_array]:
        """The :meth:`refinement` of this basis and of coarser ones, while they exceed ``coarsest`` functions."""
        basis = self
        while basis.size > coarsest and not (basis.box.cells % 2).any():
            yield basis.refinement()
            basis = basis.coarser()

    def centers(self) -> np.ndarray:
        """Where the functions have their maxima, (size, d), in the user's coordinates."""
        places = np.stack(np.unravel_index(np.arange(self.size), self.shape), axis=-1) + 0.5 * (1 - self.degree)
        return self.box.low + places * self.box.spacing * self.box.scale

    def _line(self, cells: int, order: int) -> sparse.csr_array:
        """Integrals along one axis of the products of derivatives of one order, in cells."""
        q = self.degree
        rows, columns = (part.ravel() for part in np.indices((q + 1, q + 1)))
        first = np.arange(cells)[:, None]
        entries = np.tile(cell_products(q, order).ravel(), cells)
        places = (first + rows).ravel(), (first + columns).ravel()
        return sparse.csr_array(sparse.coo_array((entries, places), shape=(cells + q, cells + q)))

    def _design(self, X: np.ndarray, orders) -> sparse.csr_array:
        places = self.box.coordinates(X)
        if len(places) and (places.min() < -1e-9 or (places > self.box.cells + 1e-9).any()):
            raise ValueError("X has points outside the box of the grid.")
        cells = np.clip(np.floor(places).astype(np.int64), 0, self.box.cells - 1)
        powers = (places - cells)[..., None] ** np.arange(self.degree + 1)
        entries, columns = np.ones((len(places), 1)), np.zeros((len(places), 1), dtype=np.int64)
        for axis, order in enumerate(orders):
            table = derivative_pieces(self.degree, int(order))[order] / self.box.spacing**order
            along = powers[:, axis] @ table.T
            entries = (entries[:, :, None] * along[:, None]).reshape(len(places), -1)
            number = cells[:, axis, None] + np.arange(self.degree + 1)
            columns = (columns[:, :, None] * self.shape[axis] + number[:, None]).reshape(len(places), -1)
        starts = np.arange(0, columns.size + 1, columns.shape[1])
        return sparse.csr_array((entries.ravel(), columns.ravel(), starts), shape=(len(places), self.size))


def _kronecker(matrices: list) -> sparse.csr_array:
    return reduce(lambda left, right: sparse.kron(left, right, format="csr"), matrices)
