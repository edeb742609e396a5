"""Labelled points on both sides of a surface, from its points and their normals (seed 004, 4.1.4 and 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

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
    """

    distance: np.ndarray
    rows: np.ndarray
    n_discarded: int

    def __str__(self):
        total = len(self.rows) + self.n_discarded
        return f"{len(self.rows)} off-surface points, {self.n_discarded} of {total} discarded"


def off_surface_points(
    points, normals, distance=None, keep: float = _KEEP, sides: str = "both", return_report: bool = False
):
    """Points x + d n, labelled +1 (outside), and x - d n, labelled -1 (inside).

    A point that is nearer than ``keep * d`` to a surface point other than its own is left out: it may lie beyond a
    thin wall, on the wrong side. Over a flat part of the surface no other point is nearer than d, unless the points are
    noisy: with many points and noise above a tenth of d most are left out, and a larger d or a smaller ``keep`` helps.

    Parameters
    ----------
    points : array (n, d)
        Of the surface.
    normals : array (n, d)
        Pointing outwards; their length does not matter.
    distance : float or array (n,), optional
        d. Left out, the distance of the samples: the median over all points of the distance to the 2 (d - 1)-th
        nearest other point. It should be less than half of the thinnest part of the shape, and more than the noise.
    keep : float, default 0.9
        0 keeps all.
    sides : {"both", "outside", "inside"}
    return_report : bool, default False
        Also return an :class:`OffSurfaceReport`.

    Returns
    -------
    Z : array (m, d)
        First those outside, then those inside, in the order of the points.
    labels : array (m,) of int
        +1 and -1.
    report : OffSurfaceReport
        Only with ``return_report``: the distances used, the surface point of each off-surface point, and how many were
        discarded.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.surfaces.off_surface import off_surface_points
    >>> angle = np.linspace(0, 2 * np.pi, 20, endpoint=False)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> Z, labels, report = off_surface_points(circle, circle, distance=0.1, return_report=True)
    >>> np.linalg.norm(Z[labels == 1], axis=1).round(6).max()
    np.float64(1.1)
    >>> print(report)
    40 off-surface points, 0 of 40 discarded
    """
    points, normals = _checked(points, normals)
    if sides not in SIDES:
        raise ValueError(f"sides must be one of {', '.join(map(repr, SIDES))}, got {sides!r}.")
    if not (np.isscalar(keep) and np.isfinite(keep) and 0 <= keep <= 1):
        raise ValueError(f"keep must be a number from 0 to 1, got {keep!r}.")
    tree = cKDTree(points)
    distance = _distances(distance, points, tree)
    found, labels, rows = [], [], []
    for sign in SIDES[sides]:
        moved = points + sign * distance[:, None] * normals
        kept = np.flatnonzero(~_crowded(moved, tree, keep * distance))
        found.append(moved[kept])
        rows.append(kept)
        labels.append(np.full(len(kept), sign))
    Z, labels, rows = np.concatenate(found), np.concatenate(labels), np.concatenate(rows)
    if not return_report:
        return Z, labels
    return Z, labels, OffSurfaceReport(distance, rows, len(SIDES[sides]) * len(points) - len(rows))


def sampling_distance(points: np.ndarray, tree: cKDTree | None = None) -> float:
    """The median over all points of the distance to the 2 (d - 1)-th nearest other point."""
    distinct = np.unique(points, axis=0)
    neighbors = max(2 * (points.shape[1] - 1), 1)
    if len(distinct) <= neighbors:
        raise ValueError(
            f"distance must be given: {len(distinct)} distinct points are too few to tell how far apart samples are."
        )
    if len(distinct) < len(points) or tree is None:
        tree = cKDTree(distinct)
    parts = (distinct[i : i + _CHUNK_POINTS] for i in range(0, len(distinct), _CHUNK_POINTS))
    return float(np.median(np.concatenate([tree.query(part, k=[neighbors + 1])[0][:, 0] for part in parts])))


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
        raise ValueError(f"distance must be one number, or {len(points)}, one a point, got {distance!r}.") from None
    if not (np.isfinite(distances).all() and (distances > 0).all()):
        raise ValueError("distance must be positive and finite.")
    return distances
