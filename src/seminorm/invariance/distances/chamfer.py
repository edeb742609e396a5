"""Distances of point sets of any size, point by point to the nearest of the other set."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from .base import Distance, require_matrix

_REDUCTIONS = ("mean", "largest")


class Chamfer(Distance):
    r"""How far the points of one set are from the nearest of the other, both ways: the mean of both averages,

    .. math:: d(X, Y) = \frac{1}{2 |X|} \sum_{x \in X} \min_{y \in Y} |x - y|
        + \frac{1}{2 |Y|} \sum_{y \in Y} \min_{x \in X} |x - y|,

    or with ``reduction="largest"`` the larger of both maxima, the Hausdorff distance, which is a metric. The order of
    the points does not matter, and sets may have different sizes.

    Parameters
    ----------
    reduction : {"mean", "largest"}, default "mean"

    See Also
    --------
    PointSetDistance : Sets of the same size, up to rotations and shifts.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.invariance import Chamfer
    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> Chamfer().distance(square, square[::-1] + [0.0, 0.5])
    0.5
    >>> Chamfer("largest").distance(square, square[:2])
    1.0
    """

    def __init__(self, reduction: str = "mean"):
        self.reduction = reduction

    def patterns(self, X: Any, name: str = "X") -> list[np.ndarray]:
        """Point sets (points, dimension), checked; a row of numbers is a set of points on the line."""
        sets = [_points(x, f"{name}[{i}]") for i, x in enumerate(X)]
        if not sets:
            raise ValueError(f"{name} has no point sets: give at least one.")
        for i, points in enumerate(sets):
            if points.shape[1] != sets[0].shape[1]:
                raise ValueError(
                    f"{name}[{i}] has points of dimension {points.shape[1]} and {name}[0] of {sets[0].shape[1]}: they "
                    "must agree."
                )
        return sets

    def to_origin(self, X: Any) -> np.ndarray:
        """Distances (n,) to the set that is the origin alone."""
        sets = self.patterns(X)
        return self._pairwise(sets, [np.zeros((1, sets[0].shape[1]))])[:, 0]

    def _pairwise(self, X: list[np.ndarray], Y: list[np.ndarray] | None) -> np.ndarray:
        if self.reduction not in _REDUCTIONS:
            raise ValueError(f"reduction must be 'mean' or 'largest', got {self.reduction!r}.")
        others = X if Y is None else Y
        if X[0].shape[1] != others[0].shape[1]:
            raise ValueError(f"points of X have dimension {X[0].shape[1]} and those of Y {others[0].shape[1]}.")
        require_matrix(len(X), len(others))
        there = self._one_way(X, others)
        back = there.T if Y is None else self._one_way(others, X).T
        return 0.5 * (there + back) if self.reduction == "mean" else np.maximum(there, back)

    def _one_way(self, X: list[np.ndarray], Y: list[np.ndarray]) -> np.ndarray:
        """Means or maxima of the distances from the points of each x to each y."""
        starts = np.cumsum([0, *(len(x) for x in X)])
        together, out = np.concatenate(X), np.empty((len(X), len(Y)))
        for j, y in enumerate(Y):
            nearest = cKDTree(y).query(together)[0]
            if self.reduction == "mean":
                out[:, j] = np.add.reduceat(nearest, starts[:-1]) / np.diff(starts)
            else:
                out[:, j] = np.maximum.reduceat(nearest, starts[:-1])
        return out


def _points(x: Any, name: str) -> np.ndarray:
    points = np.asarray(x, dtype=np.float64)
    points = points[:, None] if points.ndim == 1 else points
    if points.ndim != 2 or points.size == 0:
        raise ValueError(f"{name} must be points (n, dimension), at least one, got shape {np.shape(x)}.")
    if not np.isfinite(points).all():
        raise ValueError(f"{name} has NaN or infinity, first at point {int(np.argwhere(~np.isfinite(points))[0, 0])}.")
    return points
