"""Tangent planes of points from their neighbours, and how many neighbours to take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import get_num_threads
from scipy.spatial import cKDTree

from ._neighbourhoods import fit_neighbourhoods
from .preparation import thin_rows

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
_DOUBT = 0.03  # squared sine of the angle at which confidence is one half
_LONE = 4.0  # times the median distance of neighbours: farther points are doubtful
_NO_SIDES = np.zeros((0, 3))


@dataclass(frozen=True)
class LocalFits:
    """Surfaces fitted to neighbourhoods, a row for each point.

    Attributes
    ----------
    normals : array (n, 3)
        Of length 1 and arbitrary sign.
    feet : array (n, 3)
        The points moved onto their fitted surfaces.
    confidence : array (n,)
        In [0, 1]: low where the fit is uncertain, changes with the number of neighbours, or has neighbours only far
        away or along a line.
    spacing : array (n,)
        Local distance of points: the square root of the area each stands for.
    """

    normals: np.ndarray
    feet: np.ndarray
    confidence: np.ndarray
    spacing: np.ndarray


class Neighbourhoods:
    """The neighbours of each point, ready for fits.

    Parameters
    ----------
    points : array (n, 3)
        Distinct.
    mass : array (n,)
        How often each point was measured.
    k : int, optional
        Number of neighbours, the point itself included; chosen from the points by default.
    quadric : bool
        Whether to fit quadrics over the tangent planes, or just planes.

    Attributes
    ----------
    k : int
    noisy : bool
        Whether points scatter around the surface, as opposed to lying on one that bends between them.
    """

    def __init__(self, points: np.ndarray, mass: np.ndarray, k: int | None = None, quadric: bool = True):
        self.points, self.quadric = points, quadric
        self._tree, self._source, self._mass = cKDTree(points), points, mass.astype(np.float64)
        self._member = None
        chosen, self.noisy = self._choose()
        self.k = chosen if k is None else k
        self._count = self.k
        if self.k > _MOST:
            self._merge()

    def fit(self, sides: np.ndarray | None = None, report: Callable[[int], object] = lambda count: None) -> LocalFits:
        """Fit a surface to the neighbours of each point.

        Parameters
        ----------
        sides : array (n, 3), optional
            Unit vectors that look outwards roughly: neighbours of another side, as on thin sheets and across creases,
            lose their weight.
        report : callable
            Gets the number of points that are done, chunk by chunk.
        """
        n, count = len(self.points), self._count
        source_sides = _NO_SIDES if sides is None else self._source_sides(sides)
        fewer = max(count * 2 // 3, min(count, 8))
        normals, feet = np.empty((n, 3)), np.empty((n, 3))
        doubt, radius, width = np.empty(n), np.empty(n), np.empty(n)
        order = self._tree.indices if self._member is None else np.argsort(self._member, kind="stable")
        for first in range(0, n, _CHUNK):
            rows = order[first : first + _CHUNK]
            queries = self.points[rows]
            query_sides = _NO_SIDES if sides is None else sides[rows]
            distance, near = self._tree.query(queries, k=count, workers=get_num_threads())
            found, height, deviation, slope, evenness = self._fit(queries, near, count, source_sides, query_sides)
            other = self._fit(queries, near, fewer, source_sides, query_sides)[0]
            normals[rows], feet[rows] = found, queries + height[:, None] * found
            doubt[rows] = deviation**2 * slope + 1.0 - np.einsum("ij,ij->i", found, other) ** 2
            radius[rows], width[rows] = distance[:, -1], evenness
            report(len(rows))
        confidence = np.clip(10.0 * width, 0.0, 1.0) / (1.0 + np.maximum(doubt, 0.0) / _DOUBT)
        confidence *= np.minimum(1.0, _LONE * float(np.median(radius)) / np.maximum(radius, 1e-300))
        return LocalFits(normals, feet, confidence, radius * np.sqrt(np.pi / self.k))

    def _choose(self) -> tuple[int, bool]:
        """The number of neighbours with the smallest error of the normals, as far as the points tell; and the noise.

        Two sheets in one neighbourhood look like noise, but none of their points is close to the fit.
        """
        n = len(self.points)
        if n < _FEW:
            return min(n, _LADDER[0]), False
        ladder = [k for k in _LADDER if k <= n // 4]
        rows = _sample(n)
        _, near = self._tree.query(self.points[rows], k=ladder[-1], workers=get_num_threads())
        fits = [self._fit(self.points[rows], near, k, _NO_SIDES, _NO_SIDES) for k in ladder]
        noisy = bool(np.median(fits[min(3, len(fits) - 1)][2]) < _STEADY * np.median(fits[0][2]))
        step = _best_step(fits, noisy)
        if not _is_one_sheet(fits[step]):
            noisy = False
            whole = [_is_one_sheet(fit) for fit in fits]
            step = _best_step(fits[: max(whole.index(False), 1)], noisy)
        return ladder[step], noisy

    def _merge(self) -> None:
        """Put the means of points in cells, of which a neighbourhood has a few dozen, in the place of the points."""
        points, mass = self.points, self._mass
        rows = _sample(len(points))
        radius = self._tree.query(points[rows], k=[self.k], workers=get_num_threads())[0][:, 0]
        centres = points[thin_rows(points, float(np.median(radius)) * np.sqrt(np.pi / _MERGED))]
        nearest = cKDTree(centres).query(points, workers=get_num_threads())[1]
        self._member = np.unique(nearest, return_inverse=True)[1]
        self._source = self._means(points)
        self._mass = np.bincount(self._member, mass)
        self._tree = cKDTree(self._source)
        inside = self._tree.query_ball_point(points[rows], radius, return_length=True)
        n = len(self._source)
        self._count = int(np.clip(np.median(inside), min(12, n), min(2 * _MOST, n)))

    def _means(self, values: np.ndarray) -> np.ndarray:
        sums = np.stack([np.bincount(self._member, column) for column in values.T], axis=1)
        return sums / np.bincount(self._member)[:, None]

    def _source_sides(self, sides: np.ndarray) -> np.ndarray:
        return sides if self._member is None else self._means(sides)

    def _fit(self, queries, near, k: int, sides, query_sides) -> tuple[np.ndarray, ...]:
        m = len(queries)
        found = np.empty((m, 3)), np.empty(m), np.empty(m), np.empty(m), np.empty(m)
        place = self._source, self._mass, sides, queries, query_sides, near
        fit_neighbourhoods(*place, k, self.quadric, _ROUNDS, *found)
        return found


def _sample(n: int) -> np.ndarray:
    return np.unique(np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.intp))


def _best_step(fits: list, noisy: bool) -> int:
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
