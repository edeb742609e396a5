"""Which vertices of a mesh lie near a crease, and to which of its sides they belong, from oriented data points.

A smooth function rounds off an edge over about one of its cells. The normals of the data do not: near an edge they fall
into two clusters, at a corner into three or more. As in multi-level partitions of unity [Ohtake et al. 2003], a quadric
is fitted to the points and normals of each cluster, its side. There is a crease where the sides meet at an angle and
explain the data much better than the smooth function does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from ... import _native
from ..._base.threads import thread_count
from ...clouds.cloud import unit_rows

_Chosen = tuple[np.ndarray, np.ndarray]  # rows of places, and the numbers of one of their sides each

SIDES = 4  # the most that meet at a corner
_TERMS = 10
_REACH = 2.5  # cells of the function, within which data decide about a vertex
_REACH_OF_NOISY = 3.2  # the same for points that scatter
_FEWEST, _MOST = 24, 192  # data points that are asked
_APART = np.cos(np.radians(28.0))  # clusters of normals are farther apart
_COVERED = 2.0  # cells, or spacings of the data, to the nearest of them
_BACKSIDE = -0.9  # cosine: normals that look away belong to the other side of a thin part
_LEAST = 4  # points of a side
_RIDGE = 0.22  # weight of the prior that a side bends little within the reach
_DOUBT = 0.2  # angle between the normal of a point and that of its side, from which on it counts less
_ROUNDS = 4
_CHUNK = 2**16
JUMP = np.cos(np.radians(25.0))  # least angle of a crease
_NEAR = 1.6  # cells between a vertex and its crease
_FARTHEST = 0.9  # cells by which a vertex moves
_SNAP = 0.08  # cells between a vertex and a crease that goes through it
_EXPLAINED = 0.85  # misfit of the sides of a crease, over that of the smooth function
_MOSTLY = 0.68  # the median of that, where creases are most of what bends


@dataclass(frozen=True)
class OrientedData:
    """Oriented points, and the smooth function that was fitted to them."""

    tree: cKDTree  # of the points
    normals: np.ndarray
    jet: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # values and gradients of the function
    cell: float  # its finest details
    spacing: float  # between points
    tolerance: float  # distance that counts as much as a normal that is wrong by one radian
    estimated: bool  # whether the normals come from the points: across a crease they are blends

    @property
    def points(self) -> np.ndarray:
        return self.tree.data

    @property
    def doubt(self) -> float:
        """Angle between the normal of a point and that of its side, from which on it counts less than the point."""
        return _DOUBT if self.estimated and self.tolerance < self.spacing / 2 else np.inf

    def near(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Distances and rows of the data points that decide about each place."""
        reach = (_REACH_OF_NOISY if self.tolerance > self.spacing else _REACH) * self.cell
        wanted = int(np.clip(np.pi * (reach / self.spacing) ** 2, _FEWEST, _MOST))
        return self.tree.query(X, k=min(wanted, len(self.points)), workers=thread_count())

    def misfit(self, rows: np.ndarray) -> np.ndarray:
        """Of the function at the data points (n, 2): squares of the distance over the tolerance, and of the angle; only
        for the rows that are named."""
        used = np.zeros(len(self.points), dtype=bool)
        used[rows] = True
        result = np.empty((len(self.points), 2))
        values, gradients = self.jet(self.points[used])
        result[used, 0] = (values / self.tolerance) ** 2
        result[used, 1] = ((gradients - self.normals[used]) ** 2).sum(axis=1)
        return result


@dataclass
class CreaseSides:
    """Quadrics R (c + g y + y H y / 2), y = (x - center) / R, for each of a few places; c, g and H in ``coef``."""

    center: np.ndarray  # (m, 3)
    radius: np.ndarray  # (m,)
    coef: np.ndarray  # (m, sides, 10)
    valid: np.ndarray  # (m, sides)
    misfit: np.ndarray  # (m, 4), of the smooth function and of the sides, as in :meth:`OrientedData.misfit`

    @classmethod
    def fit(cls, evidence: OrientedData, X: np.ndarray, normals: np.ndarray) -> CreaseSides:
        """Fit the sides of the creases near places X with roughly known normals."""
        m = len(X)
        radius, coef = np.empty(m), np.empty((m, SIDES, _TERMS))
        valid, misfit = np.empty((m, SIDES), dtype=np.bool_), np.empty((m, 4))
        limits = evidence.tolerance, _APART, _BACKSIDE, _RIDGE, evidence.doubt, _LEAST, _ROUNDS
        for begin in range(0, m, _CHUNK):
            part = slice(begin, begin + _CHUNK)
            distance, rows = evidence.near(X[part])
            arrays = X[part], normals[part], rows, evidence.points, evidence.normals, evidence.misfit(rows)
            results = radius[part], coef[part], valid[part], misfit[part]
            _native.fit_sides(*map(np.ascontiguousarray, arrays), *limits, *results)
            valid[part][distance[:, 0] > _COVERED * max(evidence.cell, evidence.spacing)] = False
        return cls(X, radius, coef, valid, misfit)

    def unexplained(self, estimated: bool) -> np.ndarray:
        """Misfit of the sides over that of the smooth function, a ratio for each place."""
        which = [0] if estimated else [0, 1]
        smooth, own = self.misfit[:, which].sum(axis=1), self.misfit[:, 2:][:, which].sum(axis=1)
        return np.sqrt(own / np.maximum(smooth, 1e-300))

    def jet(self, rows: np.ndarray, number: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values and gradients of one side for each X: that with a number, of the place of a row."""
        coef, radius = self.coef[rows, number], self.radius[rows]
        y = (X - self.center[rows]) / radius[:, None]
        h = coef[:, [4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(-1, 3, 3)
        bent = (h * y[:, None]).sum(axis=2)
        values = coef[:, 0] + ((coef[:, 1:4] + 0.5 * bent) * y).sum(axis=1)
        return values * radius, coef[:, 1:4] + bent

    def meeting(self, one: _Chosen, other: _Chosen, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where two sides (rows, numbers) meet, near ``start``, and the cosine of their angle there."""
        X, cosine = start.copy(), np.ones(len(start))
        for _ in range(3):
            (f, a), (g, b) = self.jet(*one, X), self.jet(*other, X)
            aa, bb, ab = (a * a).sum(axis=1), (b * b).sum(axis=1), (a * b).sum(axis=1)
            determinant = np.maximum(aa * bb - ab**2, 1e-3 * aa * bb + 1e-12)
            u, v = (bb * f - ab * g) / determinant, (aa * g - ab * f) / determinant
            X -= u[:, None] * a + v[:, None] * b
            cosine = ab / np.sqrt(np.maximum(aa * bb, 1e-12))
        return X, cosine


@dataclass
class Places:
    """Where vertices belong that lie near a crease: to the side ``number``, at ``points`` with ``normals``; or, where
    ``on_crease``, at the points ``crease``, between sides with ``normals`` and ``others``."""

    rows: np.ndarray  # of the vertices
    sides: CreaseSides
    number: np.ndarray
    near: np.ndarray  # whether there is a crease
    points: np.ndarray
    normals: np.ndarray
    crease: np.ndarray  # the nearest point of one
    others: np.ndarray  # normals of the other side there
    on_crease: np.ndarray

    @classmethod
    def of(
        cls, rows: np.ndarray, sides: CreaseSides, normals: np.ndarray, evidence: OrientedData
    ) -> tuple[Places, bool]:
        """From the fits for vertices with rows, and the normals of the smooth function there; and whether most of the
        places where sides meet are creases."""
        X, every, cell = sides.center, np.arange(len(rows)), evidence.cell
        number = _own_side(sides, normals, cell)
        points = X.copy()
        for _ in range(2):
            values, slopes = sides.jet(every, number, points)
            points -= (values / np.maximum((slopes**2).sum(axis=1), 0.25))[:, None] * slopes
        own = unit_rows(sides.jet(every, number, points)[1])
        crease, others, nearest = points.copy(), own.copy(), np.full(len(rows), np.inf)
        for s in range(SIDES):
            on = np.flatnonzero(sides.valid[:, s] & (number != s) & sides.valid[every, number])
            other = on, np.full(len(on), s)
            meeting, cosine = sides.meeting((on, number[on]), other, points[on])
            distance = np.where(cosine < JUMP, np.linalg.norm(meeting - points[on], axis=1), np.inf)
            closer = np.flatnonzero(distance < nearest[on])
            nearest[on[closer]], crease[on[closer]] = distance[closer], meeting[closer]
            others[on[closer]] = unit_rows(sides.jet(*other, meeting)[1])[closer]
        near = (nearest < _NEAR * cell) & (np.linalg.norm(points - X, axis=1) < _FARTHEST * cell)
        unexplained = sides.unexplained(evidence.estimated)
        most = near.any() and bool(np.median(unexplained[near]) < _MOSTLY)
        near &= unexplained < _EXPLAINED
        return cls(rows, sides, number, near, points, own, crease, others, nearest < _SNAP * cell), most


def _own_side(sides: CreaseSides, normals: np.ndarray, cell: float) -> np.ndarray:
    """The side that each place belongs to: the nearest one in position and normal."""
    score = np.full(sides.valid.shape, np.inf)
    for s in range(SIDES):
        on = np.flatnonzero(sides.valid[:, s])
        values, slopes = sides.jet(on, np.full(len(on), s), sides.center[on])
        score[on, s] = (values / cell) ** 2 + ((slopes - normals[on]) ** 2).sum(axis=1)
    return score.argmin(axis=1)
