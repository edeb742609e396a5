"""How wrong a surface really is: what points tell about surfaces that were fitted without them.

The posterior of a surface knows where data are sparse or missing, but neither what the smoothing hides nor that normals
of neighbours may be wrong together. Held-out points know, but they have noise themselves. So they are held out in pairs
of neighbours: both have the error e of the surface in common, their noise is independent, and the mean product of
their signed distances is the mean of e**2 without the noise. Divided by the variance of the posterior, this is the
factor that the variance lacks; where errors are not drowned in noise it is local. Within holes the factor comes from
discs of points that are held out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.spatial import cKDTree

from ..clouds.normals.estimation import estimate_normals
from ..clouds.pairs import HeldOutPairs, mutual_neighbors
from ..clouds.sampling import OrientedPoints
from ..fields.field import Field
from ..shapes.attributes import FILLED
from .fitting import Model, fit_surface
from .selection import window_rows

LEAST_SLOPE = 0.3  # below which a value of the function tells little about the distance
_SEED = 20212
_FOLDS, _FOLDS_ESTIMATED = 5, 3
_HELD_OUT = 0.1
_MOST = 30_000  # points that are fitted again for each fold: all, or windows of them
_OF_FEWER = 0.75  # of the variance found where normals are estimated again: fewer points reach farther (measured)
_LEAST_ESTIMATED = 30  # points whose normals can be estimated again without some of them
_TOL = 0.02
_STEPS = 8  # of Newton's method towards the surface
_HOLES, _HOLE_SHARE = 8, 0.15  # least number of discs that are held out, and most of the points in them
_MOST_HOLES = 60
_NARROWEST = 1.5  # radius of the discs, times the distance from data at which a surface is made up


class Refits:
    """Fits without some points, and the distances of these points; all in the units of the data."""

    def __init__(
        self, field: Field, points: np.ndarray, normals: np.ndarray, order: int, smoothness: float, tolerance: float
    ):
        self.field, self.points, self.normals = field, points, np.asarray(normals)
        self._oriented = OrientedPoints.prepare(points, normals)
        size = self._oriented.size
        self._model = Model(order, field.tree.degree, smoothness / size, tolerance / size, field.depth)
        self._spacing = float(np.median(self._oriented.spacing)) * size

    def pairs(self, estimated: bool) -> HeldOutPairs:
        """Pairs of neighbours, in several folds; normals that were ``estimated`` are so again without them."""
        rows = np.arange(len(self.points))
        if len(rows) > _MOST:
            rows = np.flatnonzero(window_rows(self._oriented.X, _MOST))
        rng = np.random.default_rng([_SEED, len(rows)])
        feet = _feet(self.field, self.points[rows], self._spacing)[0]
        pairs = rng.permutation(mutual_neighbors(feet, self.normals[rows]))
        folds = _FOLDS_ESTIMATED if estimated else _FOLDS
        each = max(int(_HELD_OUT * len(rows) / 2), 1)
        pairs = pairs[: folds * each]
        distances = np.empty(pairs.shape)
        for begin in range(0, len(pairs), each):
            held = pairs[begin : begin + each]
            kept = np.ones(len(rows), dtype=np.bool_)
            kept[held] = False
            fit = self._fit(rows[kept], estimated)
            away = _feet(fit, self.points[rows[held.T.ravel()]], self._spacing)[1]
            distances[begin : begin + each] = away.reshape(2, -1).T
        if estimated:
            distances *= np.sqrt(_OF_FEWER)
        return HeldOutPairs(feet[pairs.T.ravel()], distances.T.ravel())

    def holes(self, radius: float) -> tuple[np.ndarray, HeldOutPairs, Field] | None:
        """Which points are left (n,) when discs about as wide as given are cut out, what the points within them tell,
        and the surface that was fitted without them; None where points are too few for that.
        """
        area = self._oriented.spacing**2 * self._oriented.size**2
        widest = np.sqrt(_HOLE_SHARE * area.sum() / _HOLES / np.pi)
        radius = max(min(radius, widest), _NARROWEST * FILLED * self._spacing)
        number = int(np.clip(_HOLE_SHARE * area.sum() / (np.pi * radius**2), 1, min(_MOST_HOLES, len(area))))
        rng = np.random.default_rng([_SEED, len(area), 1])
        centers = self.points[rng.choice(len(area), number, replace=False, p=area / area.sum())]
        away, hole = cKDTree(centers).query(self.points)
        kept = away > radius
        if np.count_nonzero(kept) < len(kept) / 2:
            return None
        fit = self._fit(np.flatnonzero(kept), False)
        feet, away = _feet(fit, self.points[~kept], max(radius / 2, self._spacing))
        pairs = mutual_neighbors(feet, self.normals[~kept])
        both = pairs.T.ravel()
        found = HeldOutPairs(feet[both], away[both], hole[~kept][pairs[:, 0]])
        return (kept, found, fit) if len(pairs) else None

    def _fit(self, rows: np.ndarray, estimated: bool) -> Field:
        points = self._oriented[rows]
        if estimated and len(rows) >= _LEAST_ESTIMATED:
            new = estimate_normals(self.points[rows], orient=False).normals
            signs = np.where((new * points.normals).sum(axis=1) < 0, -1, 1)
            points = replace(points, normals=np.ascontiguousarray(signs[:, None] * new, dtype=np.float32))
        return fit_surface(points, self._model, tol=_TOL).field()


def _feet(field: Field, X: np.ndarray, longest: float) -> tuple[np.ndarray, np.ndarray]:
    """The points of a surface nearest to X (n, 3), about, in steps no longer than given, and the signed distances.

    Each step is one of Newton's, and half of one along the surface towards X.
    """
    feet = X
    for _ in range(_STEPS):
        values, gradients = field.jet(feet)
        slopes = np.maximum(np.linalg.norm(gradients, axis=1), LEAST_SLOPE)
        towards = gradients / slopes[:, None]
        away = X - feet
        along = away - (away * towards).sum(axis=1)[:, None] * towards
        feet = feet + 0.5 * along - np.clip(values / slopes, -longest, longest)[:, None] * towards
    return feet, np.sign(field(X)) * np.linalg.norm(feet - X, axis=1)
