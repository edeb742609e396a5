"""Closed surfaces keep their outside outside.

Where a finger is thinner than the points are apart, no point may lie on its tip, and the function goes on as its sides
suggest: if they diverge ever so little, the finger ends in a bubble. Beyond the convex hull of closed data the function
should be positive, but for what fills a gap and is no higher than wide. Where it is not, it is fitted once more with
values there: half the distances to the data, give or take as much. The ends of open tubes are wider than tips, and
stay.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from ..clouds.preparation import thin_rows
from ..clouds.sampling import OrientedPoints
from .fitting import SurfaceFit, fit_surface

_CELLS, _BORDER = 32, 0.25  # along the longest side of the data; looked at beyond it, in that side
_BEYOND = 0.02  # of the diagonal of the data: places farther out than that should be outside
_OPEN = 0.1  # share of the area that may lack, of closed data
_TIP = 10.0  # distances of points: width of what a tip is
_APART, _STEPS = 4.0, 2.5  # distances of points, and steps of the grid, within which data are one part
_FAR = 2.0  # distances of points: places nearer to data may be inside
_AROUND, _ONE_SIDE = 2.0, 0.85  # distances to the nearest, and length of the mean direction to data within these:
# that of what fills gaps was at most 0.78, that of bubbles 0.93 in the middle (measured)
_COARSE = 0.02  # of the longest side: distance of the data that are looked at for that
_KNOWN = 0.5  # of the distance to the data: value, and its error
_ROUNDS = 3
_DIRECTIONS, _HULL_POINTS = 512, 50_000  # that show the convex hull


def kept_outside(fit: SurfaceFit, **options) -> SurfaceFit:
    """The fit, or one more with values outside, where the tips of closed data in space end in bubbles."""
    points = fit.points
    if points.X.shape[1] != 3 or not _are_closed(points):
        return fit
    places, around = _places_beyond(points.X), _Around(points)
    known = np.zeros(len(places), dtype=bool)
    for _ in range(_ROUNDS):
        new = np.flatnonzero((fit.field()(points.box.low + places * points.box.scale) < 0.0) & ~known)
        new = new[around.of_bubbles(places[new])]
        if not len(new):
            break
        known[new] = True
        fit = fit_surface(_with_values(points, places[known], around.tree, fit.model.tolerance), fit.model, **options)
    return replace(fit, points=points)


def _are_closed(points: OrientedPoints) -> bool:
    return float(np.linalg.norm(points.area @ points.normals)) < _OPEN * float(points.area.sum())


def _places_beyond(X: np.ndarray) -> np.ndarray:
    """Places (k, 3) of a grid beyond the convex hull of points."""
    low, high = X.min(axis=0), X.max(axis=0)
    axes = np.linspace(low - _BORDER, high + _BORDER, _CELLS, axis=1)
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    directions = _directions()
    extent = (X[:: max(len(X) // _HULL_POINTS, 1)] @ directions).max(axis=0)
    limit = _BEYOND * float(np.linalg.norm(high - low))
    return grid[(grid @ directions > extent + limit).any(axis=1)]


def _directions() -> np.ndarray:
    """Unit vectors (3, k) all around."""
    k = np.arange(_DIRECTIONS)
    z, turn = 1.0 - (2 * k + 1) / _DIRECTIONS, np.pi * (3.0 - np.sqrt(5.0)) * k
    return np.stack([np.sqrt(1.0 - z**2) * np.cos(turn), np.sqrt(1.0 - z**2) * np.sin(turn), z])


class _Around:
    """What the data around a place say: whether a bubble may be there."""

    def __init__(self, points: OrientedPoints):
        self.X, self.spacing, self.tree = points.X, points.spacing, cKDTree(points.X)
        self.some = points.X[thin_rows(points.X, _COARSE)]

    def of_bubbles(self, places: np.ndarray) -> np.ndarray:
        """Which places have data on one side only, and next to them those of something thin."""
        away, near = self.tree.query(places)
        found = np.flatnonzero((away > _FAR * self.spacing[near]) & (self._to_one_side(places, away) > _ONE_SIDE))
        bubble = np.zeros(len(places), dtype=bool)
        nearest, of_place = np.unique(near[found], return_inverse=True)
        group = self._groups(nearest)
        for k in range(int(group.max(initial=-1)) + 1):
            width = np.linalg.norm(np.ptp(self.X[nearest[group == k]], axis=0))
            if width <= _TIP * np.median(self.spacing[nearest[group == k]]):
                bubble[found[group[of_place] == k]] = True
        return bubble

    def _to_one_side(self, places: np.ndarray, away: np.ndarray) -> np.ndarray:
        """Length of the mean direction from a place to the data not much farther than the nearest: 1 if all are one."""
        mean = np.empty(len(places))
        for i, place in enumerate(places):
            across = self.some - place
            length = np.linalg.norm(across, axis=1)
            close = length <= max(_AROUND * away[i], float(length.min()))
            mean[i] = np.linalg.norm((across[close] / length[close, None]).mean(axis=0))
        return mean

    def _groups(self, rows: np.ndarray) -> np.ndarray:
        """The group (k,) of each of some data, joined by short distances."""
        if not len(rows):
            return np.zeros(0, dtype=np.intp)
        reach = max(_APART * float(self.spacing[rows].max()), _STEPS * (1.0 + 2.0 * _BORDER) / (_CELLS - 1))
        pairs = cKDTree(self.X[rows]).query_pairs(reach, output_type="ndarray")
        graph = coo_array((np.ones(len(pairs)), pairs.T), shape=(len(rows),) * 2)
        return connected_components(graph, directed=False)[1]


def _with_values(points: OrientedPoints, places: np.ndarray, tree: cKDTree, tolerance: float) -> OrientedPoints:
    """The points, and places where the value, but no normal, is known."""
    distance = tree.query(places)[0]
    nothing = np.zeros((len(places), 3), dtype=np.float32)
    area = np.full(len(places), (tolerance / _KNOWN) ** 2)
    columns = {"X": places, "normals": nothing, "area": area, "spacing": distance, "values": _KNOWN * distance}
    given = replace(points, values=np.zeros(len(points)), confidence=None)
    joined: dict[str, Any] = {name: np.concatenate([getattr(given, name), more]) for name, more in columns.items()}
    return replace(given, **joined)
