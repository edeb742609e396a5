"""Labelled points on both sides of a surface, from its points and their normals [Walder 2008, 4.1.4 and 4.2]."""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree

from .._base.spacing import neighbor_distances

_KEEP = 0.9
_CHUNK_POINTS = 2**18
SIDES = {"both": (1, -1), "outside": (1,), "inside": (-1,)}


@dataclass(frozen=True)
class OffSurfaceReport:
    """How off-surface points came about.

    Attributes
    ----------
    distance : array (n,)
        From each surface point to its off-surface points.
    rows : array (m,)
        The surface point that each off-surface point belongs to.
    n_discarded : int
        Off-surface points left out, because another surface point was too near.

    See Also
    --------
    off_surface_points
    """

    distance: np.ndarray
    rows: np.ndarray
    n_discarded: int

    def __str__(self) -> str:
        total = len(self.rows) + self.n_discarded
        return f"{len(self.rows)} off-surface points, {self.n_discarded} of {total} discarded"


def off_surface_points(
    points: ArrayLike,
    normals: ArrayLike,
    distance: ArrayLike | None = None,
    keep: float = _KEEP,
    sides: str = "both",
    return_report: bool = False,
) -> tuple[Any, ...]:
    """Points x + d n, labelled +1 (outside), and x - d n, labelled -1 (inside).

    A point that is nearer than ``keep * d`` to a surface point other than its own is left out: it may lie beyond a
    thin wall, on the wrong side. Over a flat part of the surface no other point is nearer than d, unless the points are
    noisy: with many points and noise above a tenth of d most are left out, and a larger d or a smaller ``keep`` helps.

    Parameters
    ----------
    points, normals : array (n, d)
        Of the surface; normals point outwards, their length does not matter.
    distance : float or array (n,), optional
        d, less than half of the thinnest part of the shape, and more than the noise. Left out, the distance of the
        samples: the median over all points of the distance to the 2 (d - 1)-th nearest other point.
    keep : float, default 0.9
        0 keeps all.
    sides : {"both", "outside", "inside"}
    return_report : bool, default False
        Also return an :class:`OffSurfaceReport`.

    Returns
    -------
    Z : array (m, d)
        First those outside, then those inside, in the order of the points.
    labels : array (m,) of int, +1 and -1
    report : OffSurfaceReport
        Only with ``return_report``.

    Examples
    --------
    >>> from seminorm.clouds import off_surface_points
    >>> Z, labels, report = off_surface_points([[0, 0], [1, 0]], [[0, 1], [0, 2]], distance=0.1, return_report=True)
    >>> Z.tolist(), labels.tolist(), str(report)
    ([[0.0, 0.1], [1.0, 0.1], [0.0, -0.1], [1.0, -0.1]], [1, 1, -1, -1], '4 off-surface points, 0 of 4 discarded')

    See Also
    --------
    seminorm.ImplicitSVM : Learns a surface from labelled points.
    """
    points, normals = _checked(points, normals)
    if sides not in SIDES:
        raise ValueError(f"sides must be one of {', '.join(map(repr, SIDES))}, got {sides!r}.")
    if not (isinstance(keep, Real) and np.isfinite(keep) and 0 <= keep <= 1):
        raise ValueError(f"keep must be a number from 0 to 1, got {keep!r}.")
    tree = cKDTree(points)
    distance = _distances(distance, points, tree)
    moved = [points + sign * distance[:, None] * normals for sign in SIDES[sides]]
    kept = [np.flatnonzero(~_crowded(places, tree, keep * distance)) for places in moved]
    Z = np.concatenate([places[rows] for places, rows in zip(moved, kept, strict=True)])
    labels = np.repeat(SIDES[sides], [len(rows) for rows in kept])
    if not return_report:
        return Z, labels
    rows = np.concatenate(kept)
    return Z, labels, OffSurfaceReport(distance, rows, len(SIDES[sides]) * len(points) - len(rows))


def sampling_distance(points: np.ndarray, tree: cKDTree | None = None) -> float:
    """The median over all points of the distance to the 2 (d - 1)-th nearest other point."""
    distinct = np.unique(points, axis=0)
    neighbors = max(2 * (points.shape[1] - 1), 1)
    if len(distinct) <= neighbors:
        what = f"{len(distinct)} distinct points are too few to find how far apart samples are"
        raise ValueError(f"distance must be given: {what}.")
    known = tree if len(distinct) == len(points) else None
    return float(np.median(neighbor_distances(distinct, neighbors, tree=known)))


def _crowded(moved: np.ndarray, tree: cKDTree, reach: np.ndarray) -> np.ndarray:
    """Which points have a data point, other than the one of the same row, nearer than their reach."""
    crowded = np.empty(len(moved), dtype=bool)
    for begin in range(0, len(moved), _CHUNK_POINTS):
        part = slice(begin, begin + _CHUNK_POINTS)
        own = np.arange(len(moved))[part, None]
        near, which = tree.query(moved[part], k=2)
        crowded[part] = ((near < reach[part, None]) & (which != own) & (which < tree.n)).any(axis=1)
    return crowded


def _checked(points, normals) -> tuple[np.ndarray, np.ndarray]:
    points, normals = np.asarray(points, dtype=float), np.asarray(normals, dtype=float)
    if points.ndim != 2 or points.shape[1] < 2 or not len(points):
        raise ValueError(f"points must be of shape (n, d) with n > 0 and d > 1, got {points.shape}.")
    if normals.shape != points.shape:
        raise ValueError(f"normals must have the shape of points, {points.shape}, got {normals.shape}.")
    for name, values in (("points", points), ("normals", normals)):
        if not np.isfinite(values).all():
            raise ValueError(f"{name} has NaN or infinity: remove these points (seminorm.surfaces.drop_invalid).")
    lengths = np.linalg.norm(normals, axis=1)
    if not (lengths > 0).all():
        raise ValueError(f"normals must not be zero, and {(lengths == 0).sum()} are: remove these points.")
    return points, normals / lengths[:, None]


def _distances(distance, points: np.ndarray, tree: cKDTree) -> np.ndarray:
    if distance is None:
        distance = sampling_distance(points, tree)
    try:
        distances = np.array(np.broadcast_to(np.asarray(distance, dtype=float), len(points)))
    except (TypeError, ValueError):
        raise ValueError(f"distance must be one number, or {len(points)}, one per point, got {distance!r}.") from None
    if not (np.isfinite(distances).all() and (distances > 0).all()):
        raise ValueError("distance must be positive and finite.")
    return distances
