"""Colours and other numbers given at the data points, carried to any place by smooth fields of their own."""

from dataclasses import dataclass

import numpy as np

from ..bases.box import GridBox
from ..fields.field import Field
from ..fields.limits import DEEPEST_SURFACE
from ..fields.pointwise import PointEquations
from ..fields.system import collapse
from ..fields.tree import Tree
from .sampling import deepened

_ORDER = 2  # order 1 falls back to the mean right beside the data: in space it does not feel single points
_POINTS_PER_CELL = 4.0  # of the finest level
_MOST_COEFFICIENTS = 2**22
_MOST_POINTS = 2**21
_MARGIN = 0.25  # of the longest side of the data
_SMOOTH = 0.1  # energy against data of a function of the finest level
_TOL = 1e-2
_MAX_ITER = 100


@dataclass(frozen=True)
class Carried:
    """A smooth continuation of numbers given at points, within the range of the numbers."""

    tree: Tree
    coef: np.ndarray  # (k, blocks, functions)
    offsets: np.ndarray  # (k,), the mean of each channel
    low: np.ndarray  # (k,), its range
    high: np.ndarray
    flat: bool  # whether there is one number at a point, rather than a row of k

    def __call__(self, X) -> np.ndarray:
        """Values at X, shape (n,) or (n, k)."""
        columns = [
            np.clip(Field(self.tree, coef, _ORDER, offset)(X), low, high)
            for coef, offset, low, high in zip(self.coef, self.offsets, self.low, self.high, strict=True)
        ]
        return columns[0] if self.flat else np.stack(columns, axis=1)


def carry(points: np.ndarray, values: np.ndarray, name: str = "values") -> Carried:
    """Fit fields to numbers (n,) or (n, k) at points; they minimise squared second derivatives and squared residuals.
    Errors call the numbers ``name``.

    The cells of the basis hold some four points, or more if there are more than a few million; details below their
    width are averaged. Rows with NaN or infinity are left out.
    """
    columns = np.asarray(values, dtype=float).reshape(len(points), -1)
    known = np.isfinite(columns).all(axis=1)
    if not known.any() or not columns.shape[1]:
        raise ValueError(f"{name} is nowhere finite: there is nothing to carry to the surface.")
    points, columns = points[known], columns[known]
    low, high, offsets = columns.min(axis=0), columns.max(axis=0), columns.mean(axis=0)
    if len(points) > _MOST_POINTS:
        rows = np.sort(np.random.default_rng(0).permutation(len(points))[:_MOST_POINTS])
        points, columns = points[rows], columns[rows]
    tree, X = _tree(points)
    # a unit range for every channel: fields are fitted in single precision
    scale = np.where(high > low, high - low, 1.0)
    coef = _fit(tree, X, (columns - offsets) / scale)
    coef *= scale[:, None, None]
    return Carried(tree, coef, offsets, low, high, np.ndim(values) == 1)


def _tree(points: np.ndarray) -> tuple[Tree, np.ndarray]:
    """A basis whose finest cells hold a few points, and the points in its coordinates."""
    low, high = points.min(axis=0), points.max(axis=0)
    box = GridBox.around(low, high, scale=float((high - low).max()) or 1.0, margin=_MARGIN)
    X = box.coordinates(points)
    tree = deepened(Tree.root(box, _ORDER), X, _POINTS_PER_CELL, DEEPEST_SURFACE, _MOST_COEFFICIENTS)
    return tree, X


def _fit(tree: Tree, X: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Coefficients for each column, (k, blocks, functions)."""
    weights = np.zeros((len(X), 2), dtype=np.float32)
    weights[:, 0] = 1.0
    nothing = np.zeros((len(X), 1 + X.shape[1]), dtype=np.float32)
    equations = PointEquations(tree, _ORDER, X, weights, nothing, np.float32)
    own = equations.value_weight[tree.blocks(tree.depth)]
    mean = float(own.sum()) / max(int(np.count_nonzero(own)), 1)
    alpha = _SMOOTH * mean / float(equations.energy.factors[-1] * np.trace(equations.energy.cell))
    result = np.empty((columns.shape[1], *tree.active.shape), dtype=np.float32)
    for coef, column in zip(result, columns.T, strict=True):
        x = np.zeros(tree.active.shape, dtype=np.float32)
        equations.solve_for(alpha, equations.right_for(column), x, tol=_TOL, max_iter=_MAX_ITER)
        coef[:] = collapse(tree, x)
    return result
