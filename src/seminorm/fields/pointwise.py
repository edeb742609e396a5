"""Normal equations of values and gradients at points that are applied point by point, never stored.

Where a cell holds few points, as around a surface, this takes less memory and less time than stencils: some hundred
operations per point, and nothing for what is not there.
"""

from functools import cache, cached_property
from math import factorial

import numpy as np
from numpy.typing import DTypeLike

from .. import _native
from .._base.blas import suited_to
from .._native import PointSum
from ..bases.bsplines import cell_products
from ..solvers.linear.conjugate_gradients import Outcome, conjugate_gradients
from .roughness import Roughness
from .system import THREADED, CellEnergy, Equations, collapse, dot, gather
from .tree import BlockGroups, Tree

_LANES = 8  # the compiled loop reads rows filled up to a multiple of this


class LocalEnergy(CellEnergy):
    """The roughness of a field, applied block by block."""

    @cached_property
    def _leaves(self) -> BlockGroups:
        return self.tree.by_color(np.flatnonzero(self.tree.leaf.any(axis=1)))

    @cached_property
    def _finest(self) -> BlockGroups:
        return self.tree.by_color(self.tree.of_finest_level(np.flatnonzero(self.tree.leaf.any(axis=1))))

    def add(self, x: np.ndarray, alpha: float, y: np.ndarray, *, finest_only: bool = False) -> None:
        """Add alpha times the energy's gradient (half of it) at collapsed coefficients x to y; ``finest_only``: that
        of the cells of the finest level.
        """
        leaves = self._finest if finest_only else self._leaves
        for order, _ in self.roughness.parts:
            factors = (alpha * factorial(order) * self.factors * self.shares[:, order]).astype(x.dtype)
            forms = _row_forms(self.tree.layout.side, self.tree.degree, order)
            _native.add_energy(self.tree.links, x, *leaves, factors, forms.astype(x.dtype), y)


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
        roughness: Roughness | int,
        points: np.ndarray,
        weights: np.ndarray,
        observed: np.ndarray,
        dtype: DTypeLike = np.float64,
        axis_weights: np.ndarray | None = None,
    ):
        super().__init__(tree, LocalEnergy(tree, roughness), dtype)
        block, cell = tree.locate(points)
        self.point_order, start = tree.sort_by_block(block)
        n, d = points.shape
        self._axis_weights = np.ones(d) if axis_weights is None else np.asarray(axis_weights, dtype=float)
        corner, t = np.empty(n, dtype=np.int32), np.empty((n, d), dtype=np.float32)
        _native.place_points(tree.links, points, block, cell, self.point_order, corner, t)
        self._places = start, corner, t
        self.weights = np.ascontiguousarray(weights[self.point_order], dtype=np.float32)
        self.observed = np.ascontiguousarray(observed[self.point_order], dtype=np.float32)
        occupied = np.flatnonzero(np.diff(start))
        self._occupied, self._finest = tree.by_color(occupied), tree.by_color(tree.of_finest_level(occupied))
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

    def solve_finest(self, alpha: float, x: np.ndarray, *, tol: float, max_iter: int, floor: float = 0.0) -> Outcome:
        """Solve for the functions of the finest level alone, those of coarser levels as they are in x, until the
        residual is the share ``tol`` of what it was, or the share ``floor`` of the data.

        Where the finest functions lie wholly on the finest cells, as they do away from the border of the box, the
        energy is the same stencil for all of them, and no other level takes part in the iteration.
        """
        own, finest = self.tree.blocks(self.tree.depth), _FinestLevel(self, alpha)
        data = self._leaf_right()[own]
        right, step = data - finest.image(collapse(self.tree, x)), np.zeros_like(data)
        left, whole = (dot(part, finest.precondition(part)) for part in (right, data))
        tol = max(tol, floor * np.sqrt(whole / left)) if left > 0.0 else tol
        with suited_to(0):
            outcome = conjugate_gradients(
                finest.apply, finest.precondition, right, step, tol=tol, max_iter=max_iter, arithmetic=THREADED
            )
        x[own] += step
        return outcome

    def data_diagonal(self) -> np.ndarray:
        return self._add_data(self._nothing, PointSum.squared, self._empty())

    def smoothed_data(self) -> np.ndarray:
        """Observations summed into the functions of the leaves and read back: what a point sees of its neighbours."""
        return self._read(self._leaf_right())

    def at_points(self, x: np.ndarray) -> np.ndarray:
        """Values and gradients (n, 1 + d) at the points, in the order of ``observed``."""
        return self._read(collapse(self.tree, x))

    def add_finest_data(self, collapsed: np.ndarray, image: np.ndarray) -> None:
        """Add the data in the cells of the finest level."""
        self._add_data(collapsed, PointSum.applied, image, self._finest)

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

    def _add_data(self, x: np.ndarray, what: PointSum, y: np.ndarray, blocks: BlockGroups | None = None) -> np.ndarray:
        data = self.weights, self._axis_weights, self.observed, self.energy.spacings
        blocks = self._occupied if blocks is None else blocks
        _native.add_point_data(self.tree.links, x, *blocks, *self._places, *data, what, y)
        return y


class _FinestLevel:
    """The equations of the finest level of a tree for given functions of the coarser ones."""

    def __init__(self, equations: PointEquations, alpha: float):
        tree, energy, dtype = equations.tree, equations.energy, equations.dtype
        self._equations = equations
        self._own = tree.blocks(tree.depth)
        self._factor = alpha * energy.factors[tree.depth]
        self._stencil = energy.inner[tree.depth].astype(dtype)
        self._wanted = tree.active.reshape(len(tree.active), -1, tree.layout.side).any(axis=2)
        self._x, self._image = (np.zeros(tree.active.shape, dtype=dtype) for _ in range(2))
        wholly = tree.covered[self._own][tree.active[self._own]] == len(tree.layout.digits)
        self._same_rows = tree.box.dimension in (2, 3) and bool(wholly.all())
        self._alpha = alpha
        diagonal = equations.data_diagonal()[self._own] + dtype.type(
            self._factor * energy.inner[tree.depth, energy.inner.shape[1] // 2]
        )
        self._inverse = tree.active[self._own] / diagonal

    def precondition(self, r: np.ndarray) -> np.ndarray:
        return r * self._inverse

    def apply(self, direction: np.ndarray) -> np.ndarray:
        """The equations applied to coefficients of the finest level."""
        self._x[self._own] = direction
        return self.image(self._x)

    def image(self, collapsed: np.ndarray) -> np.ndarray:
        """Energy and data for the functions of the finest level, overwritten by the next call. What others than the
        active ones get counts for nothing, as the preconditioner keeps them at zero.
        """
        own, image = self._own, self._image
        if self._same_rows:
            level = own.start, own.stop, self._stencil, self._factor, self._wanted
            _native.apply_level(self._equations.tree.links, collapsed, *level, image)
        else:
            image[own] = 0.0
            self._equations.energy.add(collapsed, self._alpha, image, finest_only=True)
        self._equations.add_finest_data(collapsed, image)
        return image[own]
