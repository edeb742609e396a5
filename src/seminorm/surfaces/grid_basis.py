"""Tensor-product B-splines on one uniform grid, as sparse matrices.

A small companion of the multilevel fields, for problems that are not least squares: quadratic forms are assembled, and
combined at will. A vector of coefficients becomes a :class:`Field` of one level.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import product
from math import factorial, prod

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from ..fields.field import Field
from ..fields.tree import Box, Tree
from ..operators.bsplines import cell_products, check_order, derivative_pieces, refinement_mask

_FACTORISED = {1: 10**6, 2: 40_000, 3: 5000, 4: 1500}  # functions: the fill grows fast with the dimension
_TINY = 1e-300
_POWER_STEPS = 12
_CHEBYSHEV_STEPS = 3
_SMOOTHED = 0.1  # the part of the spectrum that coarser grids see


class GridBasis:
    """The B-splines of a uniform grid over a box, in 1 to 4 dimensions.

    Lengths in all matrices are those of the box: the user's, divided by the scale of each axis. Functions are numbered
    in row-major order, ``shape`` of them along the axes.

    Parameters
    ----------
    box : Box
    degree : int

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.fields.tree import Box
    >>> from seminorm.surfaces.grid_basis import GridBasis
    >>> basis = GridBasis(Box([0.0, 0.0], [1.0, 1.0], 0.25, [4, 4]), degree=2)
    >>> basis.size, float(basis.values(np.array([[0.3, 0.6]])).sum().round(6))
    (36, 1.0)
    """

    def __init__(self, box: Box, degree: int = 2):
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
        return cls(Box((low + high) / 2 - needed / cells * scale / 2, scale, 1.0 / cells, needed), degree)

    @property
    def dimension(self) -> int:
        return self.box.dimension

    def values(self, X: np.ndarray) -> sparse.csr_array:
        """The functions at points of the box, (n, size): row i holds the values at point i."""
        return self._design(X, [0] * self.dimension)

    def gradients(self, X: np.ndarray) -> list[sparse.csr_array]:
        """The derivatives along each axis at points of the box, a matrix (n, size) each."""
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
        total = None
        for orders in product(range(order + 1), repeat=self.dimension):
            if sum(orders) != order:
                continue
            weight = factorial(order) / prod(factorial(k) for k in orders)
            term = weight * _kronecker([line[k] for line, k in zip(lines, orders, strict=True)])
            total = term if total is None else total + term
        return sparse.csr_array(total * self.box.spacing ** (self.dimension - 2 * order))

    def coarser(self) -> GridBasis:
        """The basis with cells twice as wide; the number of cells must be even along every axis."""
        if (self.box.cells % 2).any():
            raise ValueError(f"a grid of {self.box.cells.tolist()} cells has none of half as many.")
        box = self.box
        return GridBasis(Box(box.low, box.scale, 2.0 * box.spacing, box.cells // 2), self.degree)

    def refinement(self) -> sparse.csr_array:
        """Coefficients of the coarser basis as coefficients of this one: (size, size of the coarser)."""
        q, mask = self.degree, refinement_mask(self.degree)
        lines = []
        for n in self.box.cells:
            line = sparse.lil_array((n + q, n // 2 + q))
            for j in range(n // 2 + q):
                for t, weight in enumerate(mask):
                    if 0 <= 2 * j - q + t < n + q:
                        line[2 * j - q + t, j] = weight
            lines.append(sparse.csr_array(line))
        return sparse.csr_array(_kronecker(lines))

    def centres(self) -> np.ndarray:
        """Where the functions have their maxima, (size, d), in the user's coordinates."""
        places = np.stack(np.unravel_index(np.arange(self.size), self.shape), axis=-1) + 0.5 * (1 - self.degree)
        return self.box.low + places * self.box.spacing * self.box.scale

    def field(self, coef: np.ndarray, order: int) -> Field:
        """The function with the given coefficients."""
        tree = Tree.root(self.box, self.degree)
        block, node = np.nonzero(tree.active)
        places = tree.coords[block] * tree.layout.side + tree.layout.node_coords[node]
        stored = np.zeros(tree.active.shape)
        stored[block, node] = np.asarray(coef)[np.ravel_multi_index(tuple(places.T), self.shape)]
        return Field(tree, stored, order)

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


class Multigrid:
    """An approximate inverse of a positive definite matrix of a basis: one V-cycle over coarser and coarser grids.

    Symmetric and positive definite itself, so it serves as a preconditioner. Smoothing is by Chebyshev polynomials in
    the matrix, scaled by its diagonal; the coarsest system is factorised.

    Parameters
    ----------
    basis : GridBasis
    matrix : sparse array (size, size)
    coarsest : int
        Most unknowns of the system that is factorised.
    """

    def __init__(self, basis: GridBasis, matrix: sparse.csr_array, coarsest: int = 1500):
        self._levels = []
        while basis.size > coarsest and not (basis.box.cells % 2).any():
            inverse = 1.0 / matrix.diagonal()
            largest = _largest_eigenvalue(matrix, inverse)
            refine = basis.refinement()
            self._levels.append((matrix, inverse, largest, refine, sparse.csr_array(refine.T)))
            matrix = sparse.csr_array(refine.T @ matrix @ refine)
            basis = basis.coarser()
        self._direct = factorise(matrix)

    def __call__(self, right: np.ndarray) -> np.ndarray:
        """The inverse, applied to a vector or to the columns of an array."""
        return self._cycle(0, right)

    def _cycle(self, level: int, right: np.ndarray) -> np.ndarray:
        if level == len(self._levels):
            return self._direct(right)
        matrix, inverse, largest, refine, restrict = self._levels[level]
        x = _smooth(matrix, inverse, largest, right, None)
        x += refine @ self._cycle(level + 1, restrict @ (right - matrix @ x))
        return _smooth(matrix, inverse, largest, right, x)


def approximate_inverse(basis: GridBasis, matrix: sparse.sparray) -> Callable[[np.ndarray], np.ndarray]:
    """The inverse of a positive definite matrix of a basis: exact for small ones, a V-cycle for others."""
    if basis.size <= _FACTORISED[basis.dimension]:
        return factorise(matrix)
    return Multigrid(basis, sparse.csr_array(matrix))


def conjugate_gradients(
    matrix, right: np.ndarray, inverse: Callable, x: np.ndarray | None = None, *, tol: float = 1e-6, steps: int = 100
) -> np.ndarray:
    """Solve a positive definite system, or several with the columns of ``right``, to a relative residual ``tol``."""
    x = np.zeros_like(right) if x is None else x
    residual = right - matrix @ x
    limit = tol * np.linalg.norm(right, axis=0)
    z = inverse(residual)
    p, rz = z, (residual * z).sum(axis=0)
    for step in range(steps):
        if (np.linalg.norm(residual, axis=0) <= limit).all():
            break
        if step:
            z = inverse(residual)
            before, rz = rz, (residual * z).sum(axis=0)
            p = z + rz / np.maximum(before, _TINY) * p
        image = matrix @ p
        length = rz / np.maximum((p * image).sum(axis=0), _TINY)
        x, residual = x + length * p, residual - length * image
    return x


def factorise(matrix: sparse.sparray) -> Callable[[np.ndarray], np.ndarray]:
    """The inverse of a symmetric sparse matrix, as a function of right sides."""
    options = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
    return splu(sparse.csc_array(matrix), **options).solve


def _largest_eigenvalue(matrix, inverse: np.ndarray) -> float:
    """Of the scaled matrix, from above: some steps of the power method and a tenth more."""
    x = np.random.default_rng(0).standard_normal(len(inverse))
    for _ in range(_POWER_STEPS):
        x /= np.linalg.norm(x)
        x = inverse * (matrix @ x)
    return 1.1 * float(np.linalg.norm(x))


def _smooth(matrix, inverse: np.ndarray, largest: float, right: np.ndarray, x: np.ndarray | None) -> np.ndarray:
    """Chebyshev steps that reduce the error in the upper part of the spectrum."""
    inverse = inverse if right.ndim == 1 else inverse[:, None]
    middle, half = 0.5 * largest * (1 + _SMOOTHED), 0.5 * largest * (1 - _SMOOTHED)
    residual = right if x is None else right - matrix @ x
    step = inverse * residual / middle
    x = step if x is None else x + step
    rho = half / middle
    for _ in range(_CHEBYSHEV_STEPS - 1):
        residual = residual - matrix @ step
        after = 1.0 / (2.0 * middle / half - rho)
        step = after * rho * step + 2.0 * after / half * inverse * residual
        x = x + step
        rho = after
    return x
