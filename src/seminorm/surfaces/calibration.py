"""How wrong a surface really is: what points tell about surfaces that were fitted without them.

The posterior of a surface knows where data are sparse or missing, but neither what the smoothing hides nor that normals
of neighbours may be wrong together. Held-out points know, but they have noise themselves. So they are held out in pairs
of neighbours: both have the error e of the surface in common, their noise is independent, and the mean product of
their signed distances is the mean of e**2 without the noise. Divided by the variance of the posterior, this is the
factor that the variance lacks; where errors are not drowned in noise it is local. Within holes the factor comes from
discs of points that are held out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from ..clouds.normals.estimation import estimate_normals
from ..fields.field import Field
from ..shapes.attributes import FILLED, Neighborhood, distance_and_spacing
from .fitting import Model, fit_surface
from .sampling import OrientedPoints
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
_FEW = 4.0  # pairs that the posterior's own scale counts for
_NEAREST = 8  # least number of pairs that a local factor comes from
_ALIKE = 4.0  # pairs, times the squared share of the noise, that the mean of all counts for locally (measured)
_LEAST_LOCAL = 0.05  # of the mean of all
_HOLES, _HOLE_SHARE = 8, 0.15  # least number of discs that are held out, and most of the points in them
_MOST_HOLES = 60
_NARROWEST = 1.5  # radius of the discs, times the distance from data at which a surface is made up
_MEDIAN_SQUARE = 0.4549  # of a normal number of variance one
_LEAST_IN_HOLE = 3  # pairs of a disc that tell something


@dataclass(frozen=True)
class HeldOutPairs:
    """Pairs of points that were held out together."""

    places: np.ndarray  # (2 n, 3): the feet of the first and of the second ones on the surface
    distances: np.ndarray  # (2 n,): signed, from surfaces that were fitted without them
    hole: np.ndarray | None = None  # (n,): number of the disc that a pair belongs to

    def products(self, values: np.ndarray) -> np.ndarray:
        """Of the values (2 n,) of both points of each pair (n,)."""
        first, second = np.split(values, 2)
        return first * second


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


def mutual_neighbors(X: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Pairs (k, 2) of points that are nearest to each other and have normals to the same side."""
    rows = np.arange(len(X))
    if len(X) < 2:
        return np.zeros((0, 2), dtype=np.int64)
    near = cKDTree(X).query(X, 2)[1]
    near = np.where(near[:, 0] == rows, near[:, 1], near[:, 0])  # copies of a point may come first
    first = rows[(near[near] == rows) & (rows < near)]
    pairs = np.stack([first, near[first]], axis=1)
    return pairs[(normals[pairs[:, 0]] * normals[pairs[:, 1]]).sum(axis=1) > 0]


def farness(data: Neighborhood, X: np.ndarray) -> np.ndarray:
    """0 at places within a spacing of the data, 1 where a surface is made up; the logarithm of the distance between."""
    distances, spacing = distance_and_spacing(data, X)
    return np.clip(np.log(np.maximum(distances / spacing, 1.0)) / np.log(FILLED), 0.0, 1.0)


def local_factors(pairs: HeldOutPairs, variances: np.ndarray, X: np.ndarray, scale: float) -> np.ndarray:
    """Factors (m,) of the posterior's variance at places X (m, 3), from the variances at the places of the pairs;
    ``scale`` is the posterior's own.

    How local they are is decided by the noise: the mean of all pairs counts for as many of them as there would have to
    be nearby for their mean product to be better known than the mean of all.
    """
    products, expected = pairs.products(pairs.distances), np.sqrt(pairs.products(variances))
    n = len(products)
    typical = float(expected.mean()) if n else 1.0
    factor = (products.sum() + _FEW * scale * typical) / (expected.sum() + _FEW * typical)
    factor = max(float(factor), scale)
    if n <= _NEAREST or factor == 0.0:
        return np.full(len(X), factor)
    noisy = float((pairs.distances**2).mean()) / (factor * typical)
    prior = _ALIKE * max(noisy, 1.0) ** 2
    k = int(np.clip(prior, _NEAREST, n // 8 + 1))
    near = cKDTree(0.5 * sum(np.split(pairs.places, 2))).query(X, k)[1].reshape(len(X), k)
    found = products[near].sum(axis=1) + prior * factor * typical
    return np.maximum(found, _LEAST_LOCAL * prior * factor * typical) / (expected[near].sum(axis=1) + prior * typical)


def hole_factor(holes: HeldOutPairs, variances: np.ndarray, far: np.ndarray, near: float) -> float:
    """The factor of the posterior's variance within holes, from discs (:attr:`HeldOutPairs.hole`); at least that near the
    data.

    Errors within a disc go together, and few discs, over edges or thin parts, may be far off: so the factor is the
    median over discs, over that of the square of a normal number.
    """
    within = np.minimum(*np.split(far, 2)) >= 1
    if holes.hole is None or not within.any():
        return near
    ratios = (holes.products(holes.distances) / np.sqrt(holes.products(variances)))[within]
    number, total = (np.bincount(holes.hole[within], weights) for weights in (None, ratios))
    counted = number >= min(_LEAST_IN_HOLE, number.max())
    return max(float(np.median(total[counted] / number[counted]) / _MEDIAN_SQUARE), near)


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
