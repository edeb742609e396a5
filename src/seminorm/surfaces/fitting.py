"""Fitting an implicit function to oriented points, coarse to fine, for given smoothness.

Minimised is, with lengths in cells of level 0 (the longest side of the data),

    smoothness**(2 m - 3) |f|^2 + sum_i a_i (|grad f(x_i) - n_i|^2 + f(x_i)^2 / tolerance^2),

a_i the area that point i stands for: the sum is an integral over the surface, whatever the sampling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..fields.field import Field
from ..fields.pointwise import PointEquations
from ..fields.system import collapse
from ..fields.tree import Tree
from ..memory import NotEnoughMemoryError, available_bytes
from ..solvers.conjugate_gradients import Outcome
from .oriented import OrientedPoints, grown

_SAMPLE_PER_CELL = 3  # points in a cell that suffice for a coarse level
_SAMPLE_LEAST = 2000
_VECTORS = 15  # arrays of one number a function, while a system is built and solved (measured)
_POINT_BYTES = 160
_REDUCTION = 0.2  # of the residual on each level: a start may be good and still lack what is new
_STIFF = 0.5  # smoothness in cells, from which on order 3 needs double precision (measured: errors of 1e-4 of the data)
_LOCAL_SPARSITY = 4.0  # how much sparser than the average points may be, to be given the finest functions


@dataclass(frozen=True)
class Model:
    """What a surface is penalised for; lengths in cells of level 0.

    Attributes
    ----------
    order, degree : int
        Of the semi-norm and of the splines.
    smoothness : float
        Length below which details are smoothed away.
    tolerance : float
        Distance from a point that weighs as much as a unit error of its normal.
    depth : int
        Of the finest level.
    """

    order: int
    degree: int
    smoothness: float
    tolerance: float
    depth: int

    def on_level(self, level: int) -> Model:
        """The same trade-off in cells of a coarser level."""
        ratio = 2.0 ** (self.depth - level)
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
    dtype=None,
    start: SurfaceFit | None = None,
    report: Callable[[SurfaceFit], None] | None = None,
    memory_limit: float | None = None,
) -> SurfaceFit:
    """Fit one level after the other; each starts from the one before it. ``start`` is a fit of the same points.

    Numbers are of the ``dtype``, or of the one that the model needs. Levels that would need more bytes than
    ``memory_limit``, or than are free, are refused.
    """
    dtype = model.dtype if dtype is None else np.dtype(dtype)
    if start is not None and start.model.depth <= model.depth:
        tree, x = start.tree, start.x.astype(dtype)
    else:
        tree = Tree.root(points.box, model.degree)
        x = np.zeros(tree.active.shape, dtype=dtype)
    while True:
        fit = _fit_level(tree, points, model, x, tol=tol, max_iter=max_iter)
        if report is not None:
            report(fit)
        if tree.depth >= model.depth:
            return fit
        level = tree.depth + 1
        finer = grown(tree, points.X, dense_enough(points, level, model.depth))
        _check_memory(finer, len(points), dtype, memory_limit)
        larger = np.zeros(finer.active.shape, dtype=dtype)
        larger[: len(x)] = x
        tree, x = finer, larger


def settle_normals(fit: SurfaceFit, X: np.ndarray, rounds: int, **options) -> SurfaceFit:
    """Fit again with the directions of the function's own gradients at its points X for normals, so many times.

    Each round lowers the energy plus sum_i a_i ((|grad f(x_i)| - 1)^2 + f(x_i)^2 / tolerance^2), which knows no normals
    (seed 004, 4.4.2): for a given gradient its direction is the unit vector nearest to it.
    """
    for _ in range(rounds):
        slopes = fit.field().gradient(X)
        length = np.linalg.norm(slopes, axis=1, keepdims=True)
        directions = np.where(length > 0, slopes / np.maximum(length, 1e-300), fit.points.normals)
        points = replace(fit.points, normals=np.ascontiguousarray(directions, dtype=np.float32))
        fit = fit_surface(points, fit.model, start=fit, **options)
    return fit


def bytes_needed(tree: Tree, n_points: int, dtype: np.dtype) -> int:
    """An upper estimate of the memory that a fit on a tree takes, with its points."""
    return int(tree.active.size * (_VECTORS * dtype.itemsize + 8) + _POINT_BYTES * n_points)


def _check_memory(tree: Tree, n_points: int, dtype: np.dtype, limit: float | None) -> None:
    needed, limit = bytes_needed(tree, n_points, dtype), limit or available_bytes()
    if limit is not None and needed > limit:
        raise NotEnoughMemoryError(
            f"a surface of depth {tree.depth} with {tree.size} coefficients needs about {needed / 2**30:.2g} GiB, and "
            f"{limit / 2**30:.2g} GiB are allowed: choose depth={tree.depth - 1} or less, thin the points, or raise "
            "memory_limit."
        )


def dense_enough(points: OrientedPoints, level: int, depth: int) -> np.ndarray:
    """Points whose surroundings are sampled densely enough for functions of a level."""
    finest = 2.0**-level
    allowed = _LOCAL_SPARSITY * np.sqrt(np.median(points.spacing) ** 2) * 2.0 ** max(depth - level, 0)
    return points.spacing <= max(allowed, finest)


def _fit_level(tree: Tree, points: OrientedPoints, model: Model, x: np.ndarray, *, tol: float, max_iter: int):
    level = tree.depth
    here = model.on_level(level)
    part = _sample(points, level, model.depth)
    d = points.X.shape[1]
    weights = np.empty((len(part), 2), dtype=np.float32)
    weights[:, 1] = part.area
    weights[:, 0] = part.area / here.tolerance**2
    observed = np.zeros((len(part), 1 + d), dtype=np.float32)
    observed[:, 1:] = part.normals
    equations = PointEquations(tree, model.order, part.X, weights, observed, x.dtype, points.axes)
    outcome = equations.solve_for(here.alpha, equations.right, x, tol=tol, max_iter=max_iter, reduction=_REDUCTION)
    return SurfaceFit(here, points, equations, x, outcome)


def _sample(points: OrientedPoints, level: int, depth: int) -> OrientedPoints:
    """All points on the finest level, a part of them, evenly spread, where that is plenty; areas grow to make up."""
    n = len(points)
    wanted = max(_SAMPLE_LEAST, int(_SAMPLE_PER_CELL * n / max(points.points_per_cell(level), 1e-9)))
    stride = n // wanted
    if level == depth or stride < 2:
        return points
    part = points[np.random.default_rng([20211, level]).permutation(n)[: n // stride]]
    return replace(part, area=part.area * (n / len(part)))
