"""Tangent planes of points from their neighbours, and how many neighbours to take."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from ... import _native
from ..._base.threads import thread_count
from ..preparation import thin_rows

_CHUNK = 2**16
_LADDER = (10, 12, 16, 22, 32, 45, 64, 90, 128, 180, 256)
_FEW = 4 * _LADDER[0]  # points that do not allow a choice
_SAMPLE = 700  # points that decide the number of neighbours
_KNOWN = 0.02  # variance of the slope below which a normal serves as a reference for others
_NO_BETTER = 1e-4  # squared angle that does not justify more neighbours
_STEADY = 1.5  # growth of the residual from the first to the fourth step of the ladder: that of noise is less
_CLOSE, _CLOSE_SHARE = 0.4, 0.15  # of noisy points 0.3 lie within 0.4 deviations; of two sheets taken for one, none
_MOST = 48  # neighbours that are looked up: more are merged first
_MERGED = 32  # merged points in a neighbourhood
_ROUNDS = 3
_LEAST_FOR_QUADRIC = 8  # neighbours
_OUTLYING = 4.685  # of Tukey's biweight, in standard deviations
_LEAST_DEVIATION = 1e-7  # in radii of the neighbourhood
_RIDGE = 1e-6  # on the curvatures, per unit of mass, in radii
_SAME_SIDE, _LEAST_ON_A_SIDE = 0.3, 6  # dot product of sides that agree, and how many must agree to count alone
_DOUBT = 0.03  # squared sine of the angle at which confidence is one half
_LONE = 4.0  # times the median distance of neighbours: farther points are doubtful
_GROUPS_APART = 4.0  # extents of the data
NO_SIDES = np.zeros((0, 3))


@dataclass(frozen=True)
class LocalFits:
    """Surfaces fitted to neighbourhoods, a row for each point: normals of arbitrary sign, and the feet of the points.

    The confidence, in [0, 1], is low where the fit is uncertain, changes with the number of neighbours, or has its
    neighbours far away or along a line. The spacing is the square root of the area that a point stands for.
    """

    normals: np.ndarray
    feet: np.ndarray
    confidence: np.ndarray
    spacing: np.ndarray


class Neighborhoods:
    """The neighbours of distinct points (n, 3), measured ``mass`` times each, ready for fits of quadrics or planes.

    ``n_neighbors``, the point itself included, is chosen from the points by default. ``noisy`` says whether points
    scatter around the surface, as opposed to lying on one that bends between them. Points of different ``group`` (n,)
    are no neighbours. With a ``confidence`` (n,) points count for more or less, but not in what is chosen.
    """

    def __init__(
        self,
        points: np.ndarray,
        mass: np.ndarray,
        n_neighbors: int | None = None,
        quadric: bool = True,
        group: np.ndarray | None = None,
        confidence: np.ndarray | None = None,
    ):
        self.points, self.quadric, self._group = points, quadric, group
        self._places = points if group is None else apart_by_group(points, group)
        self._tree, self._source, self._mass = cKDTree(self._places), points, mass.astype(np.float64)
        self._member: np.ndarray | None = None
        chosen, self.noisy = self._choose()
        if confidence is not None:
            self._mass = self._mass * confidence
        self._weighted = confidence is not None
        self.n_neighbors = chosen if n_neighbors is None else n_neighbors
        self._count = self.n_neighbors
        if self.n_neighbors > _MOST:
            self._merge()

    def fit(self, sides: np.ndarray | None = None, report: Callable[[int], object] = lambda count: None) -> LocalFits:
        """Fit a surface to the neighbours of each point; ``report`` gets the number of points done, chunk by chunk.

        ``sides`` (n, 3) are unit vectors that look outwards roughly: neighbours of another side, as on thin sheets and
        across creases, lose their weight.
        """
        n, count = len(self.points), self._count
        source_sides = NO_SIDES if sides is None else sides if self._member is None else _means(sides, self._member)
        fewer = max(count * 2 // 3, min(count, 8))
        normals, feet = np.empty((n, 3)), np.empty((n, 3))
        doubt, radius, width = np.empty(n), np.empty(n), np.empty(n)
        order = self._tree.indices if self._member is None else np.argsort(self._member, kind="stable")
        for first in range(0, n, _CHUNK):
            rows = order[first : first + _CHUNK]
            queries = self.points[rows]
            query_sides = NO_SIDES if sides is None else sides[rows]
            distance, near = self._tree.query(self._places[rows], k=count, workers=thread_count())
            found, height, deviation, slope, evenness = self._fit(queries, near, count, source_sides, query_sides)
            other = self._fit(queries, near, fewer, source_sides, query_sides)[0]
            normals[rows], feet[rows] = found, queries + height[:, None] * found
            doubt[rows] = deviation**2 * slope + 1.0 - np.einsum("ij,ij->i", found, other) ** 2
            radius[rows], width[rows] = distance[:, -1], evenness
            report(len(rows))
        confidence = np.clip(10.0 * width, 0.0, 1.0) / (1.0 + np.maximum(doubt, 0.0) / _DOUBT)
        confidence *= np.minimum(1.0, _LONE * float(np.median(radius)) / np.maximum(radius, 1e-300))
        return LocalFits(normals, feet, confidence, radius * np.sqrt(np.pi / self.n_neighbors))

    def _choose(self) -> tuple[int, bool]:
        """The number of neighbours with the smallest estimated error of the normals, and whether there is noise."""
        n = len(self.points) if self._group is None else int(np.unique(self._group, return_counts=True)[1].min())
        if n < _FEW:
            return min(n, _LADDER[0]), False
        ladder = [k for k in _LADDER if k <= n // 4]
        rows = _sample(len(self.points))
        _, near = self._tree.query(self._places[rows], k=ladder[-1], workers=thread_count())
        fits = [self._fit(self.points[rows], near, k, NO_SIDES, NO_SIDES) for k in ladder]
        noisy = bool(np.median(fits[min(3, len(fits) - 1)][2]) < _STEADY * np.median(fits[0][2]))
        step = best_step(fits, noisy)
        if not _is_one_sheet(fits[step]):
            noisy = False
            whole = [_is_one_sheet(fit) for fit in fits]
            step = best_step(fits[: max(whole.index(False), 1)], noisy)
        return ladder[step], noisy

    def _merge(self) -> None:
        """Put the means of points in cells, of which a neighbourhood has a few dozen, in the place of the points."""
        points, places, mass = self.points, self._places, self._mass
        rows = _sample(len(points))
        radius = self._tree.query(places[rows], k=[self.n_neighbors], workers=thread_count())[0][:, 0]
        spacing = float(np.median(radius)) * np.sqrt(np.pi / _MERGED)
        parts = [np.arange(len(points))] if self._group is None else rows_by_group(self._group)
        centers = places[np.concatenate([part[thin_rows(points[part], spacing)] for part in parts])]
        nearest = cKDTree(centers).query(places, workers=thread_count())[1]
        self._member = np.unique(nearest, return_inverse=True)[1]
        self._source = _means(points, self._member, mass if self._weighted else None)
        self._mass = np.bincount(self._member, mass).astype(np.float64, copy=False)
        self._tree = cKDTree(_means(places, self._member))
        inside = self._tree.query_ball_point(places[rows], radius, return_length=True)
        n = len(self._source)
        self._count = int(np.clip(np.median(inside), min(12, n), min(2 * _MOST, n)))

    def _fit(self, queries, near, k: int, sides, query_sides) -> tuple[np.ndarray, ...]:
        """Surfaces through the k nearest points of the queries; with sides, neighbours count as far as theirs agree.

        Returned are unit normals (m, 3), the height of the surface over the query along the normal, the standard
        deviation of the points from the surface, the variance of the slope in units of that deviation squared, and the
        width: 1 if the points extend evenly in the plane and 0 if they lie on a line.
        """
        around = self._source, queries, near, sides, query_sides
        return fit_surfaces(*around, mass=self._mass, k=k, quadric=self.quadric)


def fit_surfaces(
    source: np.ndarray,
    queries: np.ndarray,
    near: np.ndarray,
    sides: np.ndarray = NO_SIDES,
    query_sides: np.ndarray = NO_SIDES,
    *,
    mass: np.ndarray | None = None,
    k: int | None = None,
    quadric: bool = True,
    rounds: int = _ROUNDS,
) -> tuple[np.ndarray, ...]:
    """What ``Neighborhoods`` fits, to any points: rows of ``near`` are the neighbours of the queries in the source.

    From the second of the ``rounds`` on, neighbours far from the fit before lose their weight.
    """
    m, k = len(queries), near.shape[1] if k is None else k
    found = np.empty((m, 3)), np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    place = source, np.ones(len(source)) if mass is None else mass, sides, queries, query_sides, near
    limits = _OUTLYING, _LEAST_DEVIATION, _RIDGE, _SAME_SIDE, _LEAST_ON_A_SIDE
    _native.fit_neighborhoods(*place, k, quadric and k >= _LEAST_FOR_QUADRIC, rounds, *limits, *found)
    return found


def apart_by_group(points: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Points (n, 4) with one more coordinate, by which groups are farther apart than any points of one group."""
    apart = _GROUPS_APART * float(np.ptp(points, axis=0).max())
    return np.column_stack([points, apart * np.unique(group, return_inverse=True)[1]])


def rows_by_group(group: np.ndarray) -> list[np.ndarray]:
    """Rows of each group."""
    order = np.argsort(group, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(group[order])) + 1)


def _means(values: np.ndarray, member: np.ndarray, mass: np.ndarray | None = None) -> np.ndarray:
    counted = 1.0 if mass is None else np.maximum(mass, np.finfo(float).tiny)
    sums = np.stack([np.bincount(member, column * counted) for column in values.T], axis=1)
    return sums / np.bincount(member, None if mass is None else counted)[:, None]


def _sample(n: int) -> np.ndarray:
    return np.unique(np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.intp))


def best_step(fits: list, noisy: bool) -> int:
    """Which of the fits, with more and more neighbours, has the smallest error of the normals.

    For k neighbours, E|n_k - n_j|^2 = V_j - V_k + bias^2, with V the variances of the normals, which follow from the
    residuals, and j < k neighbours that give a nearly unbiased normal. So V_k + bias^2 can be estimated; its median
    over the points decides.
    """
    variances = [np.minimum(deviation**2 * slope, 1.0) for _, _, deviation, slope, _ in fits]
    first = 0
    if noisy:
        medians = [float(np.median(variance)) for variance in variances]
        known = [median < _KNOWN for median in medians]
        first = known.index(True) if any(known) else int(np.argmin(medians))
    risks = []
    for (normals, *_), variance in zip(fits[first:], variances[first:], strict=True):
        change = 1.0 - np.einsum("ij,ij->i", normals, fits[first][0]) ** 2
        risks.append(float(np.median(change - variances[first] + 2.0 * variance)))
    return first + [risk <= min(risks) + _NO_BETTER for risk in risks].index(True)


def _is_one_sheet(fit: tuple) -> bool:
    _, height, deviation, *_ = fit
    return bool(np.mean(np.abs(height) <= _CLOSE * deviation) > _CLOSE_SHARE)
