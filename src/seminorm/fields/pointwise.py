"""Normal equations of values and gradients at points that are applied point by point, never stored.

Where a cell holds few points, as around a surface, this takes less memory and less time than stencils: some hundred
operations per point, and nothing for what is not there.
"""

from functools import cache
from math import factorial

import numpy as np
from numpy.typing import DTypeLike

from .. import _native
from .._native import PointSum
from ..bases.bsplines import cell_products
from .system import CellEnergy, Equations, collapse, gather
from .tree import Tree

_LANES = 8  # the compiled loop reads rows filled up to a multiple of this


class LocalEnergy(CellEnergy):
    """The squared semi-norm of order m of a field, applied block by block."""

    def __init__(self, tree: Tree, order: int):
        super().__init__(tree, order)
        self._forms = _row_forms(tree.layout.side, tree.degree, order)
        self._leaves = tree.by_color(np.flatnonzero(tree.leaf.any(axis=1)))

    def add(self, x: np.ndarray, alpha: float, y: np.ndarray) -> None:
        """Add alpha times the energy's gradient (half of it) at collapsed coefficients x to y."""
        factors = (alpha * factorial(self.order) * self.factors).astype(x.dtype)
        _native.add_energy(self.tree.links, x, *self._leaves, factors, self._forms.astype(x.dtype), y)


@cache
def _row_forms(side: int, degree: int, order: int) -> np.ndarray:
    """For w functions in a row, in [w, k]: the integrals of products of their k-th derivatives, divided by k!."""
    most = side + degree
    result = np.zeros((most + 1, order + 1, most, -(-most // _LANES) * _LANES))
    for cells in range(1, side + 1):
        for k in range(order + 1):
            for c in range(cells):
                alive = slice(c, c + degree + 1)
                result[cells + degree, k, alive, alive] += cell_products(degree, k) / factorial(k)
    return result


class PointEquations(Equations):
    """alpha times the energy, plus sum_i v_i (f(x_i) - y_i)^2 + w_i |grad f(x_i) - g_i|^2.

    Points (n, d) are in cells of level 0; ``weights`` (n, 2) are v and w, ``observed`` (n, 1 + d) the value and the
    gradient in scaled coordinates. ``axis_weights`` (d,) are factors of w for the components; 0 where one is not
    observed.
    """

    def __init__(
        self,
        tree: Tree,
        order: int,
        points: np.ndarray,
        weights: np.ndarray,
        observed: np.ndarray,
        dtype: DTypeLike = np.float64,
        axis_weights: np.ndarray | None = None,
    ):
        super().__init__(tree, LocalEnergy(tree, order), dtype)
        block, cell = tree.locate(points)
        self.point_order, start = tree.sort_by_block(block)
        n, d = points.shape
        self._axis_weights = np.ones(d) if axis_weights is None else np.asarray(axis_weights, dtype=float)
        corner, t = np.empty(n, dtype=np.int32), np.empty((n, d), dtype=np.float32)
        _native.place_points(tree.links, points, block, cell, self.point_order, corner, t)
        self._places = start, corner, t
        self.weights = np.ascontiguousarray(weights[self.point_order], dtype=np.float32)
        self.observed = np.ascontiguousarray(observed[self.point_order], dtype=np.float32)
        self._occupied = tree.by_color(np.flatnonzero(np.diff(start)))
        axes, sums = self._axis_weights.sum(), (self.value_weight, self.gradient_weight)
        _native.sum_point_weights(tree.links, start, corner, self.weights, axes, *sums)
        self.sum_to_parents()
        self._right: np.ndarray | None = None

    @property
    def right(self) -> np.ndarray:
        """Right-hand side for the functions of all levels."""
        if self._right is None:
            self._right = gather(self.tree, self._leaf_right())
        return self._right

    def right_for(self, observed: np.ndarray) -> np.ndarray:
        """Right-hand side for other observations (n, 1 + d) at the same points, or for values (n,) alone."""
        columns = slice(0, 1) if observed.ndim == 1 else slice(None)
        self.observed[:, columns] = observed.reshape(len(observed), -1)[self.point_order]
        self._right = None
        return self.right

    def apply(self, x: np.ndarray, alpha: float) -> np.ndarray:
        collapsed, image = collapse(self.tree, x), self._empty()
        self.energy.add(collapsed, alpha, image)
        self._add_data(collapsed, PointSum.applied, image)
        return gather(self.tree, image)

    def data_diagonal(self) -> np.ndarray:
        return self._add_data(self._nothing, PointSum.squared, self._empty())

    def smoothed_data(self) -> np.ndarray:
        """Observations summed into the functions of the leaves and read back: what a point sees of its neighbours."""
        return self._read(self._leaf_right())

    def at_points(self, x: np.ndarray) -> np.ndarray:
        """Values and gradients (n, 1 + d) at the points, in the order of ``observed``."""
        return self._read(collapse(self.tree, x))

    def _leaf_right(self) -> np.ndarray:
        return self._add_data(self._nothing, PointSum.observed, self._empty())

    def _read(self, collapsed: np.ndarray) -> np.ndarray:
        out = np.empty(self.observed.shape, dtype=np.float32)
        _native.read_points(self.tree.links, collapsed, *self._places, self.energy.spacings, out)
        return out

    def _empty(self) -> np.ndarray:
        return np.zeros(self.tree.active.shape, dtype=self.dtype)

    @property
    def _nothing(self) -> np.ndarray:
        return np.zeros((1, 1), dtype=self.dtype)

    def _add_data(self, x: np.ndarray, what: PointSum, y: np.ndarray) -> np.ndarray:
        data = self.weights, self._axis_weights, self.observed, self.energy.spacings
        _native.add_point_data(self.tree.links, x, *self._occupied, *self._places, *data, what, y)
        return y
