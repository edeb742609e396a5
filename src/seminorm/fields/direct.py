"""Small systems solved directly: by sparse factors of their matrix in functions that are independent.

The functions of all levels together are dependent where a level is refined. Those that have a leaf of their own level
are a basis of the same space; in it, a plane of some thousand functions is factorised in milliseconds, and
variances come without random draws.
"""

from __future__ import annotations

from functools import cached_property
from itertools import product

import numpy as np
from scipy import linalg, sparse

from .._base.blas import suited_to
from ..bases.bsplines import refinement_mask
from ..solvers.linear.sparse import Factors, factorize, reciprocal_condition
from .system import System
from .tree import Tree

MOST_FUNCTIONS, MOST_DIMENSIONS = 3000, 2  # of systems that are small; in space factors fill up
_SINGULAR = 1e-13
_TOGETHER = 4096  # rows


def is_small(tree: Tree) -> bool:
    """Whether factors cost no more than some steps of an iteration."""
    few = np.count_nonzero(independent(tree)) <= MOST_FUNCTIONS
    return tree.box.dimension <= MOST_DIMENSIONS and bool(few)


def independent(tree: Tree) -> np.ndarray:
    """Which functions (blocks, functions) are a basis: those with leaves of their own level."""
    return tree.active & (tree.covered > 0)


class DirectSolver:
    """Solutions of a small system for one alpha, and covariances of its functions.

    ``regular`` is False where the observations leave some functions undetermined, up to rounding: then it solves
    nothing.
    """

    def __init__(self, system: System, alpha: float):
        self.tree = system.tree
        self._spread = _spread(self.tree)
        matrix = sparse.csc_array(self._spread.T @ _on_leaves(system, alpha) @ self._spread)
        root = 1.0 / np.sqrt(np.maximum(matrix.diagonal(), np.finfo(float).tiny))
        self._scale = root
        self._matrix = sparse.csc_array(sparse.diags_array(root) @ matrix @ sparse.diags_array(root))

    @cached_property
    def _factors(self) -> Factors | None:
        with suited_to(0):
            try:
                factors = factorize(self._matrix)
            except RuntimeError:
                return None
            sound = reciprocal_condition(self._matrix, factors) > _SINGULAR
        return factors if sound else None

    @property
    def regular(self) -> bool:
        """Whether there is one solution."""
        return self._factors is not None

    def variances(self, rows: sparse.csr_array) -> np.ndarray:
        """Of functionals with these rows in the coefficients on the leaves (size, blocks * functions), for a noise of
        variance one.
        """
        if rows.shape[0] == 0:
            return np.zeros(0)
        needed = np.unique(rows.indices)
        spread = sparse.csr_array(self._spread[needed])
        inner = np.unique(spread.indices)
        spread = sparse.csr_array(spread[:, inner])
        covariance = spread @ (spread @ self._covariance(inner)).T
        rows = sparse.csr_array(rows[:, needed])
        parts = (rows[first : first + _TOGETHER] for first in range(0, rows.shape[0], _TOGETHER))
        return np.concatenate([np.asarray((part * (part @ covariance)).sum(axis=1)).reshape(-1) for part in parts])

    def _covariance(self, inner: np.ndarray) -> np.ndarray:
        """Of some functions: the inverse of what is left of the matrix once the others, of which only those at the rim
        meet these, are eliminated.
        """
        others = np.setdiff1d(np.arange(self._matrix.shape[0]), inner)
        rest = self._matrix[inner][:, inner].toarray()
        with suited_to(0):
            if len(others):
                coupling = sparse.csc_array(self._matrix[others][:, inner])
                rim = np.flatnonzero(np.diff(coupling.indptr))
                meeting = coupling[:, rim]
                rest[np.ix_(rim, rim)] -= meeting.T @ factorize(self._matrix[others][:, others])(meeting.toarray())
            factor = linalg.cho_factor(rest, lower=True, overwrite_a=True, check_finite=False)
            inverse = linalg.cho_solve(factor, np.diag(self._scale[inner]), overwrite_b=True, check_finite=False)
        return self._scale[inner][:, None] * inverse


def _numbers(tree: Tree, level: int, places: np.ndarray) -> np.ndarray:
    """The functions at places (n, d) in the grid of a level, -1 where there is none."""
    side, d = tree.layout.side, tree.box.dimension
    node = (places % side) @ side ** np.arange(d)[::-1]
    block = tree.lookup(level, places // side)
    return np.where(block >= 0, block * side**d + node, -1)


def _spread(tree: Tree) -> sparse.csr_array:
    """Independent functions as coefficients on the leaves: :func:`collapse` as a matrix."""
    size, nodes = tree.active.size, tree.active.shape[1]
    spread = sparse.csr_array(sparse.eye_array(size, format="csr")[:, np.flatnonzero(independent(tree))])
    for level in range(tree.depth):
        part = tree.blocks(level)
        rows = part.start * nodes + np.flatnonzero(np.diff(spread.indptr)[part.start * nodes : part.stop * nodes])
        spread = spread + _refined(tree, level, rows) @ spread
    return sparse.csr_array(spread)


def _refined(tree: Tree, level: int, functions: np.ndarray) -> sparse.csr_array:
    """Functions of a level as sums of those of the next."""
    side, d, size = tree.layout.side, tree.box.dimension, tree.active.size
    weights = refinement_mask(tree.degree)
    block, node = np.divmod(functions, side**d)
    first = 2 * (tree.coords[block] * side + tree.layout.node_coords[node]) - tree.degree
    taps = np.array(list(product(range(tree.degree + 2), repeat=d)))
    finer = _numbers(tree, level + 1, (first[:, None] + taps).reshape(-1, d))
    there = finer >= 0
    entries = np.tile(weights[taps].prod(axis=1), len(functions))[there]
    places = finer[there], np.repeat(functions, len(taps))[there]
    return sparse.csr_array((entries, places), shape=(size, size))


def _on_leaves(system: System, alpha: float) -> sparse.csr_array:
    """alpha times the energy, plus the data, for coefficients on the leaves: read off from images of vectors whose
    functions, of one color, are too far apart to see each other.
    """
    tree, reach = system.tree, 2 * system.tree.degree + 1
    side, d, size = tree.layout.side, tree.box.dimension, tree.active.size
    color = tree.coords[:, None] * side + tree.layout.node_coords
    used = np.flatnonzero(tree.covered)
    block, node = np.divmod(used, side**d)
    rows, columns, entries = [], [], []
    for own in product(range(reach), repeat=d):
        vector = (color % reach == own).all(axis=2).astype(float)
        image = system.local_form(vector, alpha).reshape(-1)[used]
        place = tree.layout.node_coords[node]
        step = (np.array(own) - color[block, node] + tree.degree) % reach - tree.degree
        slot = ((place + step) // side + 1) @ 3 ** np.arange(d)[::-1]
        other = tree.neighbors[block, slot] * np.int64(side**d) + (place + step) % side @ side ** np.arange(d)[::-1]
        seen = np.flatnonzero(image)
        rows.append(used[seen])
        columns.append(other[seen])
        entries.append(image[seen])
    places = np.concatenate(rows), np.concatenate(columns)
    local = sparse.csr_array((np.concatenate(entries), places), shape=(size, size))
    return local if system.functional_form is None else sparse.csr_array(local + system.functional_form)
