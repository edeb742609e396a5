"""How well scans agree: the noise of each, and how far apart their sheets lie where they overlap.

Quadrics through neighbours of a point's own scan, the point left out, tell the noise of the scan; noise does not grow
with the number of neighbours, as the error of a quadric does where the surface bends. Quadrics through neighbours of
all scans tell how far the sheet of one scan lies from the mean of all sheets: its offset. Offsets between two random
halves of one scan tell what is to be expected of scans that are in their place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from .._base.threads import thread_count
from .normals.local_fits import apart_by_group, fit_surfaces

_NEIGHBORS, _FEWER, _MORE = 16, 10, 24
_TOGETHER = 32  # neighbours of all scans
_SAMPLE = 2000  # points per scan that are looked at
_LEAST = 200  # of them, without which a scan is left alone
_STEADY = 1.15  # growth of the residual from the fewest to the most neighbours: that of noise is less
_CLEARLY = 1.5  # noise over that of the best scan from which on a scan counts for less
_LEAST_WEIGHT = 0.01
_BETTER = 3  # neighbours of a better scan are near if there are more than this
_MIXED = 0.1  # share of other scans among the neighbours, where scans overlap
_APART, _APART_LEAST = 2.0, 0.015  # offset over what is to be expected, and over the radius of the neighbours
_MAD_TO_DEVIATION = 1.4826
_ROUNDS, _STILL = 4, 0.2  # of moving sheets; size of a step over that of the first one, with which they stand still
_MOST = 60_000  # points that are looked at
_SEED = 20211
_CHUNK = 2**16


@dataclass(frozen=True)
class Agreement:
    """What was found: one number per scan, in the order of their labels."""

    labels: np.ndarray
    counts: np.ndarray
    noise: np.ndarray  #: standard deviation of the points around their sheet, NaN for too few points
    offset: np.ndarray  #: median distance of the sheet from the mean of all sheets, NaN where nothing overlaps
    weight: np.ndarray  #: (smallest noise / noise)**2 where the noise is clearly larger, else 1
    apart: bool  #: whether sheets are farther apart than noise explains
    steady: np.ndarray  #: whether the residuals are noise, rather than details between the points

    def details(self) -> list[dict]:
        """For the details of a surface."""
        names = ("labels", "counts", "noise", "offset", "weight")
        keys = ("scan", "points", "noise", "offset", "weight")
        columns = (getattr(self, name).tolist() for name in names)
        return [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]


def compare_scans(points: np.ndarray, normals: np.ndarray, scan: np.ndarray) -> Agreement:
    """Noise, offset and weight of the scans of points (n, 3) with unit normals; ``scan`` (n,) are their labels.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.clouds.agreement import compare_scans
    >>> rng = np.random.default_rng(0)
    >>> ball = rng.standard_normal((2000, 3))
    >>> ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    >>> scan = np.repeat([0, 1], 1000)
    >>> found = compare_scans(ball + 0.05 * scan[:, None] * rng.standard_normal((2000, 3)), ball, scan)
    >>> found.weight.round(2).tolist(), found.apart
    ([1.0, 0.01], False)
    """
    labels, counts = np.unique(scan, return_counts=True)
    some = rows_that_suffice(len(points), len(labels))
    sheets = _Sheets(points[some], normals[some], np.searchsorted(labels, scan[some]))
    noise, steady = np.full(len(labels), np.nan), np.zeros(len(labels), dtype=bool)
    samples = {int(k): sheets.sample(int(k)) for k in np.flatnonzero(np.bincount(sheets.group) >= _LEAST)}
    for k, rows in samples.items():
        few, usual, more = (_typical(sheets.left_out(rows, count)) for count in (_FEWER, _NEIGHBORS, _MORE))
        noise[k], steady[k] = _MAD_TO_DEVIATION * usual, more < _STEADY * few
    best = min((noise[k] for k in samples), default=np.nan)
    weight = _weights(noise, steady, best)
    offset, apart = _offsets(sheets, samples, len(labels))
    return Agreement(labels, counts, noise, offset, weight, apart, steady)


def weights_of_points(points: np.ndarray, scan: np.ndarray, found: Agreement) -> np.ndarray | None:
    """How much each of the points (n, 3) counts, beside those of better scans around it; None if all count alike.

    Where no better scan is near, a point of a noisy scan counts as much as any: it is all that is known.
    """
    if (found.weight == 1.0).all():
        return None
    group = np.searchsorted(found.labels, scan)
    noise = np.where(np.isfinite(found.noise), found.noise, np.inf)[group]
    tree, best = cKDTree(points), np.empty(len(points))
    for first in range(0, len(points), _CHUNK):
        rows = tree.indices[first : first + _CHUNK]
        near = tree.query(points[rows], k=min(_TOGETHER, len(points)), workers=thread_count())[1]
        best[rows] = np.partition(noise[near], _BETTER, axis=1)[:, _BETTER]
    return _weights(noise, found.steady[group], best)


def merged_sheets(
    points: np.ndarray, normals: np.ndarray, scan: np.ndarray, weight: np.ndarray | None = None
) -> np.ndarray:
    """Points (n, 3) moved along their normals, so that the sheets of the scans meet between them where they overlap,
    nearer to sheets with more weight (n,)."""
    group = np.unique(scan, return_inverse=True)[1]
    some = rows_that_suffice(len(points), int(group.max()) + 1)
    mass = None if weight is None else weight[some]
    sheets = _Sheets(points[some], normals[some], group[some], mass)
    moved, sizes = np.zeros(len(some)), []
    for _ in range(_ROUNDS):
        step, size = sheets.steps()
        moved += step
        sizes.append(size)
        if size < _STILL * sizes[0] or size == 0.0:
            break
        sheets = _Sheets(points[some] + moved[:, None] * normals[some], normals[some], group[some], mass)
    if len(some) < len(points):
        places = apart_by_group(points, group)
        moved = _median_of_near(places[some], moved, places)
    return points + moved[:, None] * normals


def _offsets(sheets: _Sheets, samples: dict[int, np.ndarray], n_labels: int) -> tuple[np.ndarray, bool]:
    """Typical offset of each scan, and whether any is larger than those between random halves of scans."""
    offset, reach = np.full(n_labels, np.nan), np.full(n_labels, np.inf)
    expected = [0.0]
    half = np.random.default_rng(_SEED).integers(2, size=len(sheets.points))
    halves = apart_by_group(sheets.points, 2 * sheets.group + half)
    for k, rows in samples.items():
        away, mixed, radius = sheets.offsets(rows)
        if mixed.sum() < _LEAST // 4:
            continue
        offset[k], reach[k] = _typical(away[mixed]), float(np.median(radius[mixed]))
        expected.append(_typical(sheets.heights(rows[mixed], halves) - sheets.heights(rows[mixed], sheets.places)))
    return offset, bool(((offset > _APART * max(expected)) & (offset > _APART_LEAST * reach)).any())


class _Sheets:
    """Points with neighbours of their own scan and of all."""

    def __init__(self, points: np.ndarray, normals: np.ndarray, group: np.ndarray, mass: np.ndarray | None = None):
        self.points = np.ascontiguousarray(points, dtype=np.float64)
        self.normals = np.ascontiguousarray(normals, dtype=np.float64)
        self.group, self._mass = group, mass
        self.large = (np.bincount(group) >= _LEAST)[group]
        self.places = apart_by_group(self.points, self.group)
        self.own, self.tree = cKDTree(self.places), cKDTree(self.points)

    def sample(self, k: int) -> np.ndarray:
        """Rows of some points of a scan."""
        own = np.flatnonzero(self.group == k)
        return np.sort(np.random.default_rng([_SEED, k]).permutation(own)[:_SAMPLE])

    def left_out(self, rows: np.ndarray, count: int) -> np.ndarray:
        """Distance of points from the sheet through neighbours of their scan."""
        near = self.own.query(self.places[rows], k=count + 1, workers=thread_count())[1][:, 1:]
        return self._fit(rows, np.ascontiguousarray(near))[1]

    def heights(self, rows: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Height over points of the sheet through neighbours, found among these places, along their normals."""
        tree = self.own if places is self.places else cKDTree(places)
        near = tree.query(places[rows], k=_NEIGHBORS, workers=thread_count())[1]
        return self._signed(rows, *self._fit(rows, near))

    def offsets(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Height of the mean sheet over that of the points' own scan, whether other scans are near, and how near."""
        count = min(_TOGETHER, len(self.points))
        distance, near = self.tree.query(self.points[rows], k=count, workers=thread_count())
        mixed = (self.group[near] != self.group[rows][:, None]).mean(axis=1) >= _MIXED
        mixed &= self.large[rows]
        mean = self._signed(rows, *self._fit(rows, near, rounds=1))  # without outliers it would be one of the sheets
        return mean - self.heights(rows, self.places), mixed, distance[:, -1]

    def steps(self) -> tuple[np.ndarray, float]:
        """What brings each point to the mean sheet, and its typical size where scans overlap."""
        away, mixed = np.zeros(len(self.points)), np.zeros(len(self.points), dtype=bool)
        for first in range(0, len(away), _CHUNK):
            rows = self.tree.indices[first : first + _CHUNK]
            away[rows], mixed[rows], _ = self.offsets(rows)
        away[~mixed] = 0.0
        step = np.where(self.large, _median_of_near(self.places, away, self.places), 0.0)  # creases fail alone
        return step, _typical(step[mixed]) if mixed.any() else 0.0

    def _fit(self, rows: np.ndarray, near: np.ndarray, rounds: int = 3) -> tuple[np.ndarray, np.ndarray]:
        normals = self.normals
        around = self.points, self.points[rows], near, normals, normals[rows]
        found = fit_surfaces(*around, mass=self._mass, rounds=rounds)
        return found[0], found[1]

    def _signed(self, rows: np.ndarray, normals: np.ndarray, height: np.ndarray) -> np.ndarray:
        return height * np.sign(np.einsum("ij,ij->i", normals, self.normals[rows]))


def _weights(noise: np.ndarray, steady: np.ndarray, best: np.ndarray | float) -> np.ndarray:
    """(best / noise)**2 where noise is clearly larger than the best."""
    clearly = steady & (noise > _CLEARLY * np.asarray(best))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(clearly, np.maximum((best / noise) ** 2, _LEAST_WEIGHT), 1.0)


def rows_that_suffice(n: int, n_scans: int) -> np.ndarray:
    """Rows of points that suffice: sheets are then hardly farther apart than points."""
    most = max(_MOST, 2 * _LEAST * n_scans)
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng([_SEED, n]).permutation(n)[:most])


def _median_of_near(known: np.ndarray, values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Medians of the values at the nearest known places."""
    tree, found = cKDTree(known), np.empty(len(places))
    for first in range(0, len(places), _CHUNK):
        rows = slice(first, first + _CHUNK)
        found[rows] = np.median(values[tree.query(places[rows], k=_NEIGHBORS, workers=thread_count())[1]], axis=1)
    return found


def _typical(values: np.ndarray) -> float:
    return float(np.median(np.abs(values)))
