"""The normal equations of a field: alpha times the energy, plus the data, for all functions of all levels of a tree.

The unknowns are the coefficients of all levels at once. Where levels overlap the functions are linearly dependent: many
coefficients give the same field, and any of them will do. Scaling each unknown by the diagonal is then a multilevel
preconditioner (BPX), whose number of steps does not grow with the depth.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy import linalg, sparse

from ..operators.bsplines import cell_energy, cell_products, derivative_pieces, pieces
from ..solvers.conjugate_gradients import Outcome, conjugate_gradients
from . import _numba as loops
from .sources import Chunk
from .tree import Tree

_FINEST_TOL = 1e-8
_COARSE_LEVELS = {1: 6, 2: 3, 3: 2, 4: 1}


class Energy:
    """The squared semi-norm of order m of a field, as an operator on its coefficients."""

    def __init__(self, tree: Tree, order: int):
        self.tree, self.order = tree, order
        tables = tree.layout
        d = tree.box.dimension
        self.cell = cell_energy(d, tree.degree, order)
        self.spacings = np.array([tree.spacing(level) for level in range(tree.depth + 1)])
        self.factors = self.spacings ** (d - 2 * order)
        self.inner = np.zeros(len(tables.offset))
        np.add.at(self.inner, tables.pairs, self.cell)
        self.kind, self.edge = self._edges()

    def _edges(self) -> tuple[np.ndarray, np.ndarray]:
        """Which lines of functions lie wholly on leaves, and the stencils of those that do so in part."""
        tree, tables = self.tree, self.tree.layout
        covered = tree.covered.reshape(len(tree.covered), -1, tables.side)
        kind = (covered == len(tables.digits)).all(axis=2).astype(np.int32)
        blocks, lines = np.nonzero((kind == 0) & covered.any(axis=2))
        kind[blocks, lines] = 2 + np.arange(len(blocks), dtype=np.int32)
        edge = np.zeros((len(blocks), len(tables.offset), tables.side))
        loops.edge_stencils(
            blocks, lines, tree.neighbours, tables.pad_slot, tables.pad_node, tables.centre, tables.digits, tables.pairs,
            tables.side, tables.degree, tree.leaf, self.cell, edge,
        )  # fmt: skip
        return kind, edge

    def __call__(self, collapsed: np.ndarray) -> float:
        """The energy of a field whose coefficients are collapsed on the leaves."""
        image = np.empty_like(collapsed)
        nothing = np.zeros((0, len(self.inner), self.tree.layout.side))
        _apply_leaves(self, collapsed, self.factors, np.zeros((1, 1), dtype=np.int32), nothing, False, image)
        return loops.dot(collapsed, image)


def _apply_leaves(energy: Energy, x, factors, data_line, data, use_data, y) -> None:
    tree, tables = energy.tree, energy.tree.layout
    loops.apply(
        x, factors, tree.level_of, tree.neighbours, tables.pad_slot, tables.pad_node, tables.centre, tables.offset,
        tables.side, energy.kind, energy.edge, energy.inner, data_line, data, use_data, y,
    )  # fmt: skip


def collapse(tree: Tree, x: np.ndarray) -> np.ndarray:
    """Coefficients of all levels as coefficients on the leaves: each level with the refined coarser ones added."""
    x = x.copy()
    tables = tree.layout
    for level in range(1, tree.depth + 1):
        first, last = tree.level_start[level], tree.level_start[level + 1]
        loops.prolong_add(
            x, first, last, tree.parent, tree.half, tree.neighbours, tables.pad_slot, tables.pad_node,
            tables.coarse_base, tables.coarse_class, tables.coarse_offset, tables.coarse_weight,
        )  # fmt: skip
    return x


def gather(tree: Tree, x: np.ndarray) -> np.ndarray:
    """The transpose of :func:`collapse`, in place: inner products with the functions of all levels."""
    tables = tree.layout
    for level in range(tree.depth - 1, -1, -1):
        first, last = tree.level_start[level], tree.level_start[level + 1]
        loops.restrict_add(
            x, first, last, tree.finer, tables.fine_slot, tables.fine_node, tables.fine_base, tables.fine_offset, tables.fine_weight
        )
    x *= tree.active
    return x


class System:
    """Energy and data of a tree. Data are added in chunks; then the system is solved for one alpha after the other.

    Parameters
    ----------
    tree : Tree
    order : int
        Of the semi-norm.
    sides : int
        Number of right-hand sides.
    """

    def __init__(self, tree: Tree, order: int, sides: int = 1):
        self.tree, self.energy = tree, Energy(tree, order)
        shape = tree.active.shape
        side = tree.layout.side
        self._data_line = np.full((shape[0], shape[1] // side), -1, dtype=np.int32)
        self._lines = 0
        self._data = np.zeros((0, len(tree.layout.offset), side))
        self.value_weight, self.gradient_weight = np.zeros(shape), np.zeros(shape)
        self.leaf_right = np.zeros((sides, *shape))
        self._closed = False

    # -- data ------------------------------------------------------------------------------------------------------

    def add(self, chunk: Chunk) -> None:
        """Add the normal equations of a chunk of observations."""
        tree, tables = self.tree, self.tree.layout
        block, cell = tree.locate(chunk.points)
        order, start = loops.sort_by_block(block, len(tree.coords))
        used = loops.new_lines(block, cell, tree.neighbours, tables.digits, tables.side, self._data_line, self._lines)
        self._grow(used)
        slopes = derivative_pieces(tree.degree, 1)[1]
        factors = 2.0 ** np.arange(tree.depth + 1)
        occupied = np.flatnonzero(np.diff(start))
        parity = (tree.coords[occupied] % 2) @ (2 ** np.arange(tree.box.dimension))
        for colour in range(2**tree.box.dimension):
            loops.add_data(
                chunk.points, chunk.observations, chunk.weights, order, start, occupied[parity == colour], cell, factors,
                self.energy.spacings, tree.coords, tree.level_of, tree.neighbours, tables.digits, tables.pairs, tables.side,
                pieces(tree.degree), slopes, chunk.values_first, chunk.gradients_first, self._data_line, self._data, self.leaf_right,
            )  # fmt: skip
        loops.add_cell_weights(
            chunk.weights, order, start, cell, chunk.values_first, chunk.gradients_first, self.value_weight, self.gradient_weight
        )

    def _grow(self, used: int) -> None:
        if used > len(self._data):
            grown = np.zeros((max(used, min(2 * len(self._data), self._data_line.size)), *self._data.shape[1:]))
            grown[: self._lines] = self._data[: self._lines]
            self._data = grown
        self._lines = used

    def close(self) -> None:
        """No more data: sums over levels are made."""
        tree, tables = self.tree, self.tree.layout
        for sums in (self.value_weight, self.gradient_weight):
            for level in range(tree.depth - 1, -1, -1):
                first, last = tree.level_start[level], tree.level_start[level + 1]
                loops.add_to_parents(sums, first, last, tree.children, tables.node_coords, tables.side)
        self.right = np.stack([gather(tree, side.copy()) for side in self.leaf_right])
        self._closed = True

    # -- the operator ----------------------------------------------------------------------------------------------

    def apply(self, x: np.ndarray, alpha: float) -> np.ndarray:
        """(alpha energy + data) x, for coefficients of all levels."""
        image = np.empty_like(x)
        collapsed = collapse(self.tree, x)
        _apply_leaves(self.energy, collapsed, alpha * self.energy.factors, self._data_line, self._data, True, image)
        return gather(self.tree, image)

    def data_form(self, collapsed: np.ndarray) -> np.ndarray:
        """The data part alone, applied to coefficients collapsed on the leaves; not gathered."""
        image = np.empty_like(collapsed)
        _apply_leaves(self.energy, collapsed, np.zeros(self.tree.depth + 1), self._data_line, self._data, True, image)
        return image

    def preconditioner(self, alpha: float):
        """Diagonal scaling on every level, an almost exact solution on the coarsest."""
        tree = self.tree
        scale = self._diagonal(alpha)
        inverse = np.where(tree.active & (scale > 0.0), 1.0 / np.where(scale > 0.0, scale, 1.0), 0.0)
        coarse = self._coarse_factor(alpha)
        root = tree.blocks(0)
        active = tree.active[root]

        def precondition(r: np.ndarray) -> np.ndarray:
            z = r * inverse
            z[root][active] = coarse @ r[root][active]
            return z

        return precondition

    def solve(self, alpha: float, x: np.ndarray, *, side: int = 0, tol: float, max_iter: int) -> Outcome:
        """Solve for one right-hand side, starting from x and overwriting it."""
        precondition = self._preconditioners(alpha)
        return conjugate_gradients(
            lambda v: self.apply(v, alpha), precondition, loops.dot, self.right[side], x, tol=tol, max_iter=max_iter
        )

    def solve_to_noise(self, alpha: float, x: np.ndarray, square_sum: float, *, tol: float, max_iter: int) -> tuple[Outcome, float]:
        """Solve for the first right-hand side until the error is small against what the field leaves of the data.

        Returns the outcome and the residual sum of squares; ``square_sum`` is that of f = 0. A residual of ``tol`` makes an
        error of about ``tol**2 * square_sum`` in it.
        """
        floor = np.finfo(float).eps * square_sum
        while True:
            outcome = self.solve(alpha, x, tol=tol, max_iter=max_iter)
            rss = max(self.residual_square_sum(x, square_sum), floor)
            enough = 0.1 * np.sqrt(rss / square_sum) if square_sum > 0.0 else 1.0
            if not outcome.converged or outcome.residual <= enough or tol < _FINEST_TOL:
                return outcome, rss
            tol = min(enough, 0.3 * tol)

    def residual_square_sum(self, x: np.ndarray, square_sum: float) -> float:
        """Weighted sum of squared residuals, from that of the data alone and the normal equations."""
        u = collapse(self.tree, x)
        return square_sum - 2 * loops.dot(self.leaf_right[0], u) + loops.dot(u, self.data_form(u))

    def _preconditioners(self, alpha: float):
        if getattr(self, "_kept", (None, None))[0] != alpha:
            self._kept = (alpha, self.preconditioner(alpha))
        return self._kept[1]

    def _diagonal(self, alpha: float) -> np.ndarray:
        tree, tables = self.tree, self.tree.layout
        squares, slopes = (np.diag(cell_products(tree.degree, k)) for k in (0, 1))
        d = tree.box.dimension
        mean_square = squares[tables.digits].prod(axis=1)
        mean_slope = sum(
            np.where(np.arange(d) == axis, slopes[tables.digits], squares[tables.digits]).prod(axis=1) for axis in range(d)
        )
        out = np.zeros(tree.active.shape)
        limits = np.stack([tree.cells(level) for level in range(tree.depth + 1)])
        loops.diagonal(
            tree.coords, tree.level_of, limits, tree.neighbours, tables.pad_slot, tables.pad_node, tables.centre,
            tables.node_coords, tables.digits, tables.side, tables.degree, tree.leaf, self.energy.cell, alpha * self.energy.factors,
            mean_square, mean_slope, self.energy.spacings, self.value_weight, self.gradient_weight, self._data_line, self._data,
            len(tables.offset) // 2, out,
        )  # fmt: skip
        return out

    def _coarse_factor(self, alpha: float) -> np.ndarray:
        """The inverse of the coarsest level's matrix, with data moved to the centres of cells a few levels down."""
        tree = self.tree
        if not hasattr(self, "_coarse_parts"):
            self._coarse_parts = _coarse_matrices(tree, self.energy, self.value_weight, self.gradient_weight)
        energy, data = self._coarse_parts
        matrix = alpha * energy + data
        values, vectors = linalg.eigh(matrix)
        keep = values > values[-1] * len(values) * np.finfo(float).eps
        return (vectors[:, keep] / values[keep]) @ vectors[:, keep].T


def _coarse_matrices(tree: Tree, energy: Energy, value_weight: np.ndarray, gradient_weight: np.ndarray):
    """Energy of the functions of level 0, and their data term."""
    d, q, tables = tree.box.dimension, tree.degree, tree.layout
    functions = tree.box.cells + q
    numbering = np.full(functions, -1)
    root = tree.blocks(0)
    blocks, nodes = np.nonzero(tree.active[root])
    places = tree.coords[root][blocks] * tables.side + tables.node_coords[nodes]
    numbering[tuple(places.T)] = np.arange(len(places))
    size = len(places)
    cells = np.argwhere(np.ones(tree.box.cells))
    alive = numbering[tuple(np.moveaxis(cells[:, None] + tables.digits, -1, 0))]
    dense = np.zeros((size, size))
    for functions_there in alive:
        dense[np.ix_(functions_there, functions_there)] += energy.factors[0] * energy.cell
    level = min(tree.depth, _COARSE_LEVELS[d])
    centres, weights, slope_weights = [], [], []
    for k in range(level + 1):
        own = tree.blocks(k)
        chosen = (value_weight[own] > 0) | (gradient_weight[own] > 0)
        if k < level:
            chosen &= tree.leaf[own]
        block, node = np.nonzero(chosen)
        place = tree.coords[own][block] * tables.side + tables.node_coords[node]
        centres.append((place + 0.5) / 2**k)
        weights.append(value_weight[own][block, node])
        slope_weights.append(gradient_weight[own][block, node] / d)
    centres, weights, slope_weights = (np.concatenate(part) for part in (centres, weights, slope_weights))
    data = np.zeros((size, size))
    for orders, weight in [((0,) * d, weights)] + [
        (tuple(int(a == b) for b in range(d)), slope_weights / tree.box.spacing**2) for a in range(d)
    ]:
        if weight.any():
            design = _root_design(centres, orders, q, tree.box.cells, numbering, size)
            data += (design.T @ design.multiply(weight[:, None]).tocsr()).toarray()
    return dense, data


def _root_design(points: np.ndarray, orders: tuple, q: int, cells: np.ndarray, numbering: np.ndarray, size: int):
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
