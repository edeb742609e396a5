"""Fitting an implicit function to oriented points, coarse to fine, for given smoothness.

Minimised is, with lengths in cells of level 0 (the longest side of the data),

    smoothness**(2 m - 3) |f|^2 + sum_i a_i (|grad f(x_i) - n_i|^2 + f(x_i)^2 / tolerance^2),

a_i the area that point i stands for: the sum is an integral over the surface, whatever the sampling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import DTypeLike

from ..clouds.sampling import OrientedPoints
from ..fields.deepening import occupied_cells
from ..fields.field import Field
from ..fields.levels import LevelProblem, fit_coarse_to_fine
from ..fields.pointwise import PointEquations
from ..fields.system import collapse
from ..fields.tree import Tree
from ..solvers.linear.conjugate_gradients import Outcome

_SAMPLE_PER_CELL = 3  # points in a cell that suffice for a coarse level
_SAMPLE_LEAST = 2000
_VECTORS = 13  # arrays of one number per function, while a system is built and solved (measured)
_POINT_BYTES = 160
_REDUCTION = 0.2  # of the residual on each level: a start may be good and still lack what is new
_ALONE = 2  # finest levels, each of which is fitted with the coarser ones as they are
_COARSE_TOL = 0.05  # for levels that only give the next one a start
_FLOOR = 1e-4  # share of the data in a residual that is small enough, however good the start was
_EXACT_TOL = 5e-3  # solutions that are to be closer than this are found for all levels together
_RESOLVED = 0.6  # smoothness in cells, from which on a level resolves it
_LEAST_JOINT = 2  # levels up to this one are always fitted together
_ALONE_TOL = 0.02  # share of its residual that may be left on such a level: sharp edges and holes need it (measured)
_STIFF = 0.5  # smoothness in cells, from which on order 3 needs double precision (measured: errors of 1e-4 of the data)
_SINGLE_FROM = 3  # dimensions, below which it is always needed: along a curve few data hold many functions (measured)
_LOCAL_SPARSITY = 4.0  # how much sparser than the average points may be, to be given the finest functions


@dataclass(frozen=True)
class Model:
    """What a surface is penalised for; lengths in cells of level 0."""

    order: int  # of the semi-norm
    degree: int  # of the splines
    smoothness: float  # length below which details are smoothed away
    tolerance: float  # distance from a point that weighs as much as a unit error of its normal
    depth: int  # of the finest level

    def on_level(self, level: int) -> Model:
        """The same trade-off in cells of a coarser level, or the same lengths where its cells are fine enough."""
        ratio = min(2.0 ** (self.depth - level), max(1.0, _RESOLVED * 2.0**-level / self.smoothness))
        return replace(self, smoothness=self.smoothness * ratio, tolerance=self.tolerance * ratio, depth=level)

    @property
    def alpha(self) -> float:
        """Factor of the squared semi-norm: with it both sums have the unit of an area, in any dimension."""
        return self.smoothness ** (2 * self.order - 3)

    @property
    def dtype(self) -> np.dtype:
        """Single precision, unless sixth derivatives weigh so much on the finest cells that they drown in rounding."""
        stiff = self.order > 2 and self.smoothness * 2.0**self.depth > _STIFF
        return np.dtype(np.float64 if stiff else np.float32)


@dataclass
class SurfaceFit:
    """A fitted function, with what is needed to fit it again."""

    model: Model
    points: OrientedPoints
    equations: PointEquations
    x: np.ndarray
    outcome: Outcome

    @property
    def tree(self) -> Tree:
        """The basis."""
        return self.equations.tree

    def field(self) -> Field:
        """The function, in the user's units."""
        coef = (collapse(self.tree, self.x) * self.points.size).astype(np.float32)
        return Field(self.tree, coef, self.model.order)


def fit_surface(
    points: OrientedPoints,
    model: Model,
    *,
    tol: float = 1e-2,
    max_iter: int = 100,
    dtype: DTypeLike | None = None,
    start: SurfaceFit | None = None,
    report: Callable[[SurfaceFit], None] | None = None,
    memory_limit: float | None = None,
) -> SurfaceFit:
    """Fit one level after the other, each from the one before it, in the precision that the model needs or ``dtype``;
    ``start`` is a fit of the same points, ``report`` is called with the fit of each level.

    A level that needs more than ``memory_limit`` bytes, or than is free, is refused.
    """
    kind = model.dtype if dtype is None else np.dtype(dtype)
    if dtype is None and points.X.shape[1] < _SINGLE_FROM:
        kind = np.dtype(np.float64)
    if start is not None:
        tree = start.tree
        while tree.coarser is not None and tree.depth > _last_joint(model, tol):
            tree = tree.coarser  # what is fitted alone is fitted again, once the coarser levels have changed
        x = start.x[: len(tree.coords)].astype(kind)
    else:
        tree = Tree.root(points.box, model.degree)
        x = np.zeros(tree.active.shape, dtype=kind)
    problem = _SurfaceLevels(points, model, kind, tol, max_iter)
    for fit in fit_coarse_to_fine(problem, tree, x, memory_limit=memory_limit):
        if report is not None:
            report(fit)
    return fit


def _last_joint(model: Model, tol: float) -> int:
    """The finest level that is fitted together with all coarser ones."""
    return model.depth if tol < _EXACT_TOL else max(model.depth - _ALONE, _LEAST_JOINT)


@dataclass
class _SurfaceLevels(LevelProblem[SurfaceFit]):
    """The levels of a surface: finer functions around all points that are sampled densely enough."""

    points: OrientedPoints
    model: Model
    dtype: np.dtype
    tol: float
    max_iter: int
    kind = "surface"

    def fit(self, tree: Tree, x: np.ndarray) -> SurfaceFit:
        model, level = self.model, tree.depth
        here = model.on_level(level)
        part = _sample(self.points, level, model.depth)
        weights = np.empty((len(part), 2), dtype=np.float32)
        weights[:, 1] = part.area
        weights[:, 0] = part.area / here.tolerance**2
        observed = np.zeros((len(part), 1 + part.X.shape[1]), dtype=np.float32)
        observed[:, 1:] = part.normals
        if part.values is not None:
            observed[:, 0] = part.values
            weights[:, 1] *= part.normals.any(axis=1)
        equations = PointEquations(tree, model.order, part.X, weights, observed, x.dtype, self.points.axes)
        last_joint = _last_joint(model, self.tol)
        if level > last_joint:
            alone = partial(equations.solve_finest, tol=_ALONE_TOL, max_iter=self.max_iter, floor=_FLOOR)
            outcome = alone(here.alpha, x)
        else:
            between = _LEAST_JOINT < level < last_joint
            tol = max(self.tol, _COARSE_TOL) if between else self.tol
            options = {"tol": tol, "max_iter": self.max_iter, "reduction": _REDUCTION, "floor": min(_FLOOR, tol)}
            outcome = equations.solve_for(here.alpha, equations.right, x, **options)
        return SurfaceFit(here, self.points, equations, x, outcome)

    def marked(self, tree: Tree, fit: SurfaceFit) -> np.ndarray | None:
        if tree.depth >= self.model.depth:
            return None
        return occupied_cells(tree, self.points.X[dense_enough(self.points, tree.depth + 1, self.model.depth)])

    def bytes_needed(self, tree: Tree) -> int:
        return int(tree.active.size * (_VECTORS * self.dtype.itemsize + 8) + _POINT_BYTES * len(self.points))


def settle_normals(fit: SurfaceFit, X: np.ndarray, rounds: int, **options) -> SurfaceFit:
    """Fit again with the directions of the function's own gradients at its points X for normals, ``rounds`` times.

    Each round lowers the energy plus sum_i a_i ((|grad f(x_i)| - 1)^2 + f(x_i)^2 / tolerance^2), which knows no normals
    [Walder 2008, 4.4.2]: for a given gradient its direction is the unit vector nearest to it.
    """
    for _ in range(rounds):
        slopes = fit.field().gradient(X)
        length = np.linalg.norm(slopes, axis=1, keepdims=True)
        directions = np.where(length > 0, slopes / np.maximum(length, 1e-300), fit.points.normals)
        points = replace(fit.points, normals=np.ascontiguousarray(directions, dtype=np.float32))
        fit = fit_surface(points, fit.model, start=fit, **options)
    return fit


def dense_enough(points: OrientedPoints, level: int, depth: int) -> np.ndarray:
    """Points whose surroundings are sampled densely enough for functions of a level."""
    finest = 2.0**-level
    allowed = _LOCAL_SPARSITY * np.sqrt(np.median(points.spacing) ** 2) * 2.0 ** max(depth - level, 0)
    return points.spacing <= max(allowed, finest)


def _sample(points: OrientedPoints, level: int, depth: int) -> OrientedPoints:
    """All points on the finest level, a part of them, evenly spread, where that is plenty; areas grow to make up."""
    n = len(points)
    wanted = max(_SAMPLE_LEAST, int(_SAMPLE_PER_CELL * n / max(points.points_per_cell(level), 1e-9)))
    stride = n // wanted
    if level == depth or stride < 2:
        return points
    part = points[np.random.default_rng([20211, level]).permutation(n)[: n // stride]]
    return replace(part, area=part.area * (n / len(part)))
