"""The normal equations of a field: alpha times the energy, plus the data, for all functions of all levels of a tree.

The unknowns are the coefficients of all levels at once. Where levels overlap the functions are linearly dependent: many
coefficients give the same field, and any of them will do. Scaling each unknown by the diagonal is then a multilevel
preconditioner (BPX), whose number of steps does not grow with the depth.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import product

import numpy as np
from scipy import linalg, sparse

from .. import _native
from .._base.blas import suited_to
from ..bases.bsplines import cell_energy, cell_products, derivative_pieces
from ..functions.functionals import ObservedFunctionals, box_quadrature
from ..solvers.linear.conjugate_gradients import Outcome, conjugate_gradients_together
from .functional_rows import cell_weights, leaf_rows, of_constant
from .layout import layout
from .roughness import Roughness
from .sources import Observations, prepare, scrambled
from .tree import Tree

_FINEST_TOL = 1e-8
_RIDGE = 1e-11
_REDUCTION = 0.1
_FEW_CELLS, _VERY_FEW_CELLS = 512, 32
_COARSE_LEVELS = {1: 6, 2: 3, 3: 1, 4: 1}


def dot(x: np.ndarray, y: np.ndarray) -> float:
    """Dot product, summed in the same order for any number of threads."""
    return _native.dot(x.reshape(-1), y.reshape(-1))


class ThreadedArithmetic:
    """Operations on long vectors by compiled loops."""

    def dot(self, x: np.ndarray, y: np.ndarray) -> float:
        return dot(x, y)

    def combine(self, factor: float, x: np.ndarray, share: float, y: np.ndarray) -> None:
        _native.combine(factor, x.reshape(-1), share, y.reshape(-1))


THREADED = ThreadedArithmetic()


class CellEnergy:
    """The roughness of a field on a tree, level by level: ``factors`` (levels,) times forms ``cells`` (levels, alive,
    alive) on one cell, those of the highest order alone if it is a single semi-norm.

    ``inner`` (levels, stencil) has the stencils of functions that lie wholly on leaves of their level.
    """

    def __init__(self, tree: Tree, roughness: Roughness | int):
        self.tree, self.roughness = tree, Roughness.of(roughness)
        d, q = tree.box.dimension, tree.degree
        self.spacings = np.array([tree.spacing(level) for level in range(tree.depth + 1)])
        self.factors, self.shares = self.roughness.on_cells(d, self.spacings)
        self.cells = self._mixed([cell_energy(d, q, order) for order, _ in self.roughness.parts])
        self.inner = self._mixed([_inner_stencil(d, q, order) for order, _ in self.roughness.parts])

    def _mixed(self, forms: list[np.ndarray]) -> np.ndarray:
        """Sums over the orders that count, for each level."""
        shares = self.shares[:, [order for order, _ in self.roughness.parts]]
        return np.stack([sum(share * form for share, form in zip(row, forms, strict=True)) for row in shares])

    @property
    def cell(self) -> np.ndarray:
        """The form on a cell of the finest level."""
        return self.cells[-1]

    @property
    def of_one(self) -> float:
        """The energy of a function that lies wholly on leaves of the finest level."""
        return float(self.factors[-1] * self.inner[-1, self.inner.shape[1] // 2])

    @property
    def scales(self) -> np.ndarray:
        """How the energy of functions of a level of size 1 depends on the level (levels,)."""
        return self.factors * self.shares.sum(axis=1)


@cache
def _inner_stencil(dimension: int, degree: int, order: int) -> np.ndarray:
    tables = layout(dimension, degree)
    stencil = np.zeros(tables.stencil)
    np.add.at(stencil, tables.pairs, cell_energy(dimension, degree, order))
    return stencil


class Energy(CellEnergy):
    """The roughness of a field as an operator on its coefficients."""

    def __init__(self, tree: Tree, roughness: Roughness | int):
        super().__init__(tree, roughness)
        self.kind, self.edge = self._edges()

    def _edges(self) -> tuple[np.ndarray, np.ndarray]:
        """Which lines of functions lie wholly on leaves, and the stencils of those that do so in part."""
        tree, tables = self.tree, self.tree.layout
        covered = tree.covered.reshape(len(tree.covered), -1, tables.side)
        kind = (covered == len(tables.digits)).all(axis=2).astype(np.int32)
        blocks, lines = map(np.ascontiguousarray, np.nonzero((kind == 0) & covered.any(axis=2)))
        kind[blocks, lines] = 2 + np.arange(len(blocks), dtype=np.int32)
        edge = np.zeros((len(blocks), tables.stencil, tables.side))
        _native.edge_stencils(tree.links, blocks, lines, tree.leaf, self.cells, edge)
        return kind, edge

    def __call__(self, collapsed: np.ndarray) -> float:
        """The energy of a field whose coefficients are collapsed on the leaves."""
        image = np.empty_like(collapsed)
        _apply_leaves(self, collapsed, self.factors, None, None, image)
        return dot(collapsed, image)


def _apply_leaves(energy: Energy, x, factors, data_line, data, image) -> None:
    stencils = energy.kind, energy.edge, energy.inner
    x, image = (array.reshape(-1, array.shape[-1]) for array in (x, image))  # several right-hand sides in one pass
    _native.apply_stencils(energy.tree.links, x, factors, *stencils, data_line, data, image)


def collapse(tree: Tree, x: np.ndarray) -> np.ndarray:
    """Coefficients of all levels as coefficients on the leaves: each level with the refined coarser ones added."""
    x = x.copy()
    for part in x.reshape(-1, *tree.active.shape):  # those of several outputs
        for parents in tree.parents:
            _native.prolong_add(tree.links, part, parents.blocks)
    return x


def gather(tree: Tree, x: np.ndarray) -> np.ndarray:
    """The transpose of :func:`collapse`, in place: inner products with the functions of all levels."""
    for part in x.reshape(-1, *tree.active.shape):  # those of several right-hand sides
        for parents in reversed(tree.parents):
            _native.restrict_add(tree.links, part, *parents)
    x *= tree.active
    return x


@dataclass(frozen=True)
class Preconditioner:
    """Diagonal scaling on every level, an almost exact solution on the coarsest."""

    inverse: np.ndarray
    root: slice
    active: np.ndarray
    coarse: np.ndarray

    def __call__(self, r: np.ndarray) -> np.ndarray:
        z = r * self.inverse
        for own, image in zip(self._parts(r), self._parts(z), strict=True):
            image[self.root][self.active] = linalg.cho_solve(
                (self.coarse, True), own[self.root][self.active], check_finite=False
            )
        return z

    def _parts(self, r: np.ndarray) -> np.ndarray:
        """Several right-hand sides, or one, along a first axis."""
        return r.reshape(-1, *self.inverse.shape)


class Equations(ABC):
    """Normal equations of all levels of a tree: preconditioned and solved here, applied by the classes below it.

    ``value_weight`` and ``gradient_weight`` (blocks, cells) are sums of the weights in each cell; after
    :meth:`sum_to_parents` in every cell of every level.
    """

    def __init__(self, tree: Tree, energy, dtype=np.float64):
        self.tree, self.energy, self.dtype = tree, energy, np.dtype(dtype)
        self.value_weight, self.gradient_weight = (np.zeros(tree.active.shape, dtype=dtype) for _ in range(2))
        self._kept: tuple[float, Preconditioner] | None = None
        self._coarse_parts: tuple[np.ndarray, np.ndarray] | None = None

    def sum_to_parents(self) -> None:
        """Add the weights of each cell to the coarser cells that hold it."""
        tree = self.tree
        for sums in (self.value_weight, self.gradient_weight):
            for level in range(tree.depth - 1, -1, -1):
                own = tree.blocks(level)
                _native.add_to_parents(tree.links, sums, own.start, own.stop)

    @abstractmethod
    def apply(self, x: np.ndarray, alpha: float) -> np.ndarray:
        """(alpha energy + data) x, for coefficients of all levels."""

    def apply_to_all(self, x: np.ndarray, alpha: float) -> np.ndarray:
        """The same for several x, (sides, blocks, functions)."""
        return self.apply(x[0], alpha)[None] if len(x) == 1 else np.stack([self.apply(part, alpha) for part in x])

    @abstractmethod
    def data_diagonal(self) -> np.ndarray:
        """Diagonal of the data part, on the leaves."""

    def preconditioner(self, alpha: float) -> Preconditioner:
        """For one alpha; the last one is kept."""
        if self._kept is None or self._kept[0] != alpha:
            scale, active = self._diagonal(alpha), self.tree.active
            known = active & (scale > 0.0)
            inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=known)
            root = self.tree.blocks(0)
            kept = Preconditioner(inverse, root, active[root], self._coarse_factor(alpha))
            self._kept = alpha, kept
        return self._kept[1]

    def solve_for(self, alpha: float, right: np.ndarray, x: np.ndarray, **options) -> Outcome:
        """Solve for any right-hand side that was gathered from the leaves, (blocks, functions), or for several in step,
        (sides, blocks, functions).
        """
        # BLAS on one thread: its own would fight with those of the loops, and change the last bits with their number
        with suited_to(0):
            parts = (array[None] if array.ndim == 2 else array for array in (right, x))
            apply = partial(self.apply_to_all, alpha=alpha)
            solve = partial(conjugate_gradients_together, apply, self.preconditioner(alpha))
            return worst(solve(*parts, arithmetic=THREADED, **options))

    def _diagonal(self, alpha: float) -> np.ndarray:
        tree, tables = self.tree, self.tree.layout
        squares, slopes = (np.diag(cell_products(tree.degree, k)) for k in (0, 1))
        d = tree.box.dimension
        means = np.zeros((2, len(tables.digits)))  # over a cell, of functions and of their gradients, squared
        means[0] = squares[tables.digits].prod(axis=1)
        for axis in range(d):
            means[1] += np.where(np.arange(d) == axis, slopes[tables.digits], squares[tables.digits]).prod(axis=1)
        out = self.data_diagonal()
        _native.add_diagonal(
            tree.links, tree.leaf, self.energy.cells, alpha * self.energy.factors, self.energy.spacings, means,
            self.value_weight, self.gradient_weight, out,
        )  # fmt: skip
        return out

    def _coarse_factor(self, alpha: float) -> np.ndarray:
        """Cholesky factor of the coarsest level's matrix, with data moved to the centres of cells a few levels down."""
        tree = self.tree
        if self._coarse_parts is None:
            self._coarse_parts = _coarse_matrices(tree, self.energy, self.value_weight, self.gradient_weight)
        energy, data = self._coarse_parts
        matrix = alpha * energy + data
        matrix[np.diag_indices(len(matrix))] += _RIDGE * np.trace(matrix) / len(matrix)  # for what no data determine
        return linalg.cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)


class System(Equations):
    """Energy and data of a tree, values minus ``mean``; an accumulator of observations. When closed, it is solved for
    one alpha after the other.

    A mean (k,) is that of k outputs, which are further right-hand sides. There are ``number`` observations, of each
    output, with the weighted ``square_sums`` (k,), and for the functions of all levels the right-hand sides ``right``
    (k + probes, blocks, functions); ``leaf_right`` is the same for collapsed coefficients. The probes are random signs
    for every observation, fixed by its number: they estimate traces. Coefficients x are (blocks, functions), or (k,
    blocks, functions) for k outputs.
    """

    def __init__(self, tree: Tree, roughness: Roughness | int, mean: float | np.ndarray = 0.0, probes: int = 0):
        super().__init__(tree, Energy(tree, roughness))
        self.mean, self.probes, self.outputs = mean, probes, np.size(mean)
        shape, side = tree.active.shape, tree.layout.side
        self._data_line = np.full((shape[0], shape[1] // side), -1, dtype=np.int32)
        self._lines = 0
        self._data = np.zeros((0, tree.layout.stencil, side))
        self.leaf_right = np.zeros((self.outputs + probes, *shape))
        self.number, self.square_sums = 0, np.zeros(self.outputs)
        self._rows: sparse.csr_array | None = None  # of the functionals, times the roots of their weights
        self._columns: sparse.csr_array | None = None  # the transpose

    def add(self, chunk: Observations, first: int) -> None:
        ready = prepare(chunk, self.tree.box, self.mean, self._random(_numbers(chunk, first)) if self.probes else None)
        self.number += int(np.count_nonzero(ready.weights))
        for k in range(self.outputs):
            self.square_sums[k] += (ready.weights * ready.observations[:, :, k] ** 2).sum()
        tree = self.tree
        block, cell = tree.locate(ready.points)
        order, start = tree.sort_by_block(block)
        self._grow(_native.new_lines(tree.links, block, cell, self._data_line, self._lines))
        groups = tree.by_color(np.flatnonzero(np.diff(start)))
        _native.assemble(
            tree.links, ready.points, ready.observations, ready.weights, order, start, *groups, cell,
            self.energy.spacings, *ready.first, self._data_line, self._data, self.leaf_right,
        )  # fmt: skip
        sums = self.value_weight, self.gradient_weight
        _native.add_cell_weights(tree.links, ready.weights, order, start, cell, *ready.first, *sums)

    def merge(self, other: System) -> None:
        blocks, lines = np.nonzero(other._data_line >= 0)
        missing = self._data_line[blocks, lines] < 0
        fresh = self._lines + np.arange(np.count_nonzero(missing), dtype=np.int32)
        self._data_line[blocks[missing], lines[missing]] = fresh
        self._grow(self._lines + len(fresh))
        self._data[self._data_line[blocks, lines]] += other._data[other._data_line[blocks, lines]]
        for name in ("value_weight", "gradient_weight", "leaf_right", "number", "square_sums"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def add_functionals(self, observed: ObservedFunctionals) -> None:
        functional, targets, weights = observed
        root = np.sqrt(weights)
        sides = list(root * (targets.T - np.multiply.outer(np.reshape(self.mean, -1), of_constant(functional))))
        self.square_sums += [(side**2).sum() for side in sides]
        numbers = np.arange(functional.size, dtype=np.uint64) + np.uint64(2**60)  # no observation has these
        if self.probes:
            sides += list(self._random(numbers).T)
        rows = sparse.diags_array(root) @ leaf_rows(functional, self.tree)
        self._rows, self._columns = sparse.csr_array(rows), sparse.csr_array(rows.T)
        for right, side in zip(self.leaf_right, sides, strict=True):
            right += (self._columns @ side).reshape(right.shape)
        self.number += functional.size
        values, slopes = cell_weights(functional, weights, self.tree)
        self.value_weight += values
        self.gradient_weight += slopes

    def _random(self, numbers: np.ndarray) -> np.ndarray:
        """The probes of observations with these numbers, along a new last axis."""
        return np.stack([_signs_of(numbers, k) for k in range(self.probes)], axis=-1)

    def _grow(self, used: int) -> None:
        if used > len(self._data):
            room = max(used, min(2 * len(self._data), self._data_line.size))
            grown = np.zeros((room, *self._data.shape[1:]))
            grown[: self._lines] = self._data[: self._lines]
            self._data = grown
        self._lines = used

    def close(self) -> System:
        """No more data: sums over levels are made. Returns the system."""
        self.sum_to_parents()
        self.right = np.stack([gather(self.tree, side.copy()) for side in self.leaf_right])
        return self

    def apply(self, x: np.ndarray, alpha: float) -> np.ndarray:
        image = np.empty_like(x)
        collapsed = collapse(self.tree, x)
        self._apply_to_leaves(collapsed, alpha * self.energy.factors, image)
        return gather(self.tree, image)

    def apply_to_all(self, x: np.ndarray, alpha: float) -> np.ndarray:
        return self.apply(x, alpha)

    def data_form(self, collapsed: np.ndarray) -> np.ndarray:
        """The data part alone, applied to coefficients collapsed on the leaves; not gathered."""
        image = np.empty_like(collapsed)
        self._apply_to_leaves(collapsed, np.zeros(self.tree.depth + 1), image)
        return image

    def local_form(self, collapsed: np.ndarray, alpha: float) -> np.ndarray:
        """alpha times the energy, plus the data without functionals, applied to collapsed coefficients."""
        image = np.empty_like(collapsed)
        _apply_leaves(self.energy, collapsed, alpha * self.energy.factors, self._data_line, self._data, image)
        return image

    @property
    def functional_form(self) -> sparse.csr_array | None:
        """The part of the functionals beside :meth:`local_form`, as a matrix; None if there are none."""
        return None if self._columns is None else sparse.csr_array(self._columns @ self._rows)

    def _apply_to_leaves(self, collapsed: np.ndarray, factors: np.ndarray, image: np.ndarray) -> None:
        _apply_leaves(self.energy, collapsed, factors, self._data_line, self._data, image)
        if self._rows is not None:
            for part, own in zip(self.of_outputs(collapsed), self.of_outputs(image), strict=True):
                own += (self._columns @ (self._rows @ part.reshape(-1))).reshape(own.shape)

    def data_diagonal(self) -> np.ndarray:
        middle = self._data[:, self._data.shape[1] // 2]
        out, known = np.zeros((*self._data_line.shape, self.tree.layout.side)), self._data_line >= 0
        out[known] = middle[self._data_line[known]]
        out = out.reshape(self.tree.active.shape)
        if self._rows is not None:
            out += self._rows.power(2).sum(axis=0).reshape(out.shape)
        return out

    @property
    def square_sum(self) -> float:
        """Of all outputs."""
        return float(self.square_sums.sum())

    def of_outputs(self, x: np.ndarray) -> np.ndarray:
        """Coefficients by outputs (k, blocks, functions), a view."""
        return x.reshape(-1, *self.tree.active.shape)

    def solve(self, alpha: float, x: np.ndarray, *, side: int = 0, **options) -> Outcome:
        """Solve for one right-hand side, starting from x and overwriting it; options as for conjugate gradients."""
        return self.solve_for(alpha, self.right[side], x, **options)

    def solve_all(self, alpha: float, x: np.ndarray, **options) -> Outcome:
        """Solve for the data of all outputs, starting from x and overwriting it."""
        return self.solve_for(alpha, self.right[: self.outputs], x, **options)

    def solve_to_noise(self, alpha: float, x: np.ndarray, *, tol: float, max_iter: int) -> tuple[Outcome, float]:
        """Solve for the data until the error is small against what the field leaves of them: the outcome, and the
        residual sum of squares of all outputs.
        """
        parts = enumerate(self.of_outputs(x))
        outcomes, rss = zip(*(self._solve_to_noise(alpha, part, k, tol, max_iter) for k, part in parts), strict=True)
        return worst(outcomes), sum(rss)

    def _solve_to_noise(
        self, alpha: float, x: np.ndarray, side: int, tol: float, max_iter: int
    ) -> tuple[Outcome, float]:
        """That of one output. A residual of ``tol`` makes an error of about ``tol**2`` times the square sum of the data
        in the residual sum of squares.
        """
        squares, reduction = float(self.square_sums[side]), _REDUCTION
        while True:
            outcome = self.solve(alpha, x, side=side, tol=tol, max_iter=max_iter, reduction=reduction)
            reduction = 1.0
            rss = max(self._residual_square_sum(x, side), np.finfo(float).eps * squares)
            enough = 0.1 * np.sqrt(rss / squares) if squares > 0.0 else 1.0
            if not outcome.converged or outcome.residual <= enough or tol < _FINEST_TOL:
                return outcome, rss
            tol = min(enough, 0.3 * tol)

    def residual_square_sums(self, x: np.ndarray) -> np.ndarray:
        """Weighted sums of squared residuals of the outputs (k,), from those of the data alone and the normal
        equations.
        """
        return np.array([self._residual_square_sum(part, side) for side, part in enumerate(self.of_outputs(x))])

    def residual_square_sum(self, x: np.ndarray) -> float:
        """The weighted sum of squared residuals of all outputs."""
        return float(self.residual_square_sums(x).sum())

    def _residual_square_sum(self, x: np.ndarray, side: int) -> float:
        u = collapse(self.tree, x)
        return float(self.square_sums[side]) - 2 * dot(self.leaf_right[side], u) + dot(u, self.data_form(u))


def worst(outcomes: Sequence[Outcome]) -> Outcome:
    """What holds for all of them."""
    if len(outcomes) == 1:
        return outcomes[0]
    return Outcome(
        max(each.n_iter for each in outcomes),
        max(each.residual for each in outcomes),
        all(each.converged for each in outcomes),
    )


def _numbers(chunk: Observations, first: int) -> np.ndarray:
    """A number for every observation (n, columns), whatever the chunks."""
    columns = (chunk.y is not None) + (chunk.X.shape[1] if chunk.gradients is not None else 0)
    points = np.arange(first, first + len(chunk.X), dtype=np.uint64)
    return points[:, None] * np.uint64(8) + np.arange(columns, dtype=np.uint64)


def _signs_of(numbers: np.ndarray, probe: int) -> np.ndarray:
    return 1.0 - 2.0 * ((scrambled(numbers) >> np.uint64(probe)) & np.uint64(1))


def _coarse_matrices(
    tree: Tree, energy: Energy, value_weight: np.ndarray, gradient_weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Energy of the functions of level 0, and their data term."""
    d, q, tables = tree.box.dimension, tree.degree, tree.layout
    functions = tree.box.cells + q
    numbering = np.full(functions, -1, dtype=np.int64)
    root = tree.blocks(0)
    blocks, nodes = np.nonzero(tree.active[root])
    places = tree.coords[root][blocks] * tables.side + tables.node_coords[nodes]
    numbering[tuple(places.T)] = np.arange(len(places))
    for axis in np.flatnonzero(tree.box.wraps):  # beyond the last function comes the first
        lines = np.moveaxis(numbering, axis, 0)
        lines[-q:] = lines[:q]
    size = len(places)
    dense = np.zeros((size, size))
    for order, share in enumerate(energy.shares[0]):
        if share > 0.0:
            dense += share * _root_energy(tuple(tree.box.cells.tolist()), q, order, numbering.tobytes())
    dense *= energy.factors[0]
    centers, values, slopes = _weighted_centers(tree, value_weight, gradient_weight)
    data = np.zeros((size, size))
    directions = [tuple(int(a == b) for b in range(d)) for a in range(d)]
    for orders, weight in [((0,) * d, values), *((orders, slopes / tree.box.spacing**2) for orders in directions)]:
        if weight.any():
            design = _root_design(centers, orders, q, tree.box.cells, numbering, size)
            seen = np.unique(design.indices)  # often few of all functions
            rows = design[:, seen].toarray() * np.sqrt(weight)[:, None]
            data[np.ix_(seen, seen)] += rows.T @ rows
    return dense, data


def _weighted_centers(
    tree: Tree, value_weight: np.ndarray, gradient_weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centres of cells a few levels down, in cells of level 0, with the weights of the data in them."""
    d, tables = tree.box.dimension, tree.layout
    level = min(tree.depth, _COARSE_LEVELS[d])
    places, widths, values, slopes = [], [], [], []
    for k in range(level + 1):
        own = tree.blocks(k)
        chosen = (value_weight[own] > 0) | (gradient_weight[own] > 0)
        if k < level:
            chosen &= tree.leaf[own]
        block, node = np.nonzero(chosen)
        places.append((tree.coords[own][block] * tables.side + tables.node_coords[node] + 0.5) / 2**k)
        widths.append(np.full(len(block), 2.0**-k))
        values.append(value_weight[own][block, node])
        slopes.append(gradient_weight[own][block, node] / d)
    centers, width, value, slope = (np.concatenate(part) for part in (places, widths, values, slopes))
    if len(centers) <= _FEW_CELLS:  # spread over the cell, or the free polynomials would not be determined
        nodes, shares = box_quadrature(d, 3 if len(centers) <= _VERY_FEW_CELLS else 2)
        centers = (centers[:, None] + (nodes - 0.5) * width[:, None, None]).reshape(-1, d)
        value, slope = (np.outer(part, shares).reshape(-1) for part in (value, slope))
    return centers, value, slope


@cache
def _root_energy(cells: tuple[int, ...], q: int, order: int, numbering: bytes) -> np.ndarray:
    """Energy of the functions of a grid, in cells."""
    numbers = np.frombuffer(numbering, dtype=np.int64).reshape([n + q for n in cells])
    form = cell_energy(len(cells), q, order)
    digits = np.array(list(product(range(q + 1), repeat=len(cells))))
    dense = np.zeros((numbers.max() + 1, numbers.max() + 1))
    for cell in np.ndindex(*cells):
        there = numbers[tuple((np.array(cell) + digits).T)]
        dense[np.ix_(there, there)] += form
    return dense


def _root_design(
    points: np.ndarray, orders: tuple[int, ...], q: int, cells: np.ndarray, numbering: np.ndarray, size: int
) -> sparse.csr_array:
    """Derivatives of the functions of level 0 at points given in cells, as a sparse matrix."""
    tables = derivative_pieces(q, max(orders))
    cell = np.minimum(points.astype(np.int64), cells - 1)
    t = points - cell
    powers = t[:, :, None] ** np.arange(q + 1)
    axis = [powers[:, a] @ tables[orders[a]].T for a in range(points.shape[1])]
    columns, values = [], []
    for digit in product(range(q + 1), repeat=points.shape[1]):
        columns.append(numbering[tuple((cell + digit).T)])
        values.append(np.prod([axis[a][:, digit[a]] for a in range(points.shape[1])], axis=0))
    rows = np.tile(np.arange(len(points)), len(columns))
    return sparse.csr_array((np.concatenate(values), (rows, np.concatenate(columns))), shape=(len(points), size))
