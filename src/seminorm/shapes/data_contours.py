"""The zero set of a shape in the plane near data, as lines that end where the data do, or fill their gaps."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull, QhullError, cKDTree

from .._base.threads import thread_count
from .attributes import FILLED
from .contours import Contours
from .extraction.squares import contour
from .implicit import Implicit
from .meshing import Bounds

_LEVEL = 1.0  # spacings beyond the last points, where an open line ends
_PROTRUDES = 0.09  # of the diagonal of the data: what lies farther outside their hull than this is outside
_NEAR_BOX = 3.0  # cells
_NEIGHBORS = 6
_SUPPORTED = 0.05  # share of a line's points that must lie near data
_ISLAND = 3.0  # spacings: shorter pieces go
_HULL_SIDES = 500  # that are looked at


def data_contours(
    shape: Implicit,
    points: np.ndarray,
    bounds: Bounds,
    cell: float,
    details: float,
    *,
    boundary: str,
    trim: float | None = None,
    max_hole: float | None = None,
    keep_unsupported: bool = False,
    refine: int = 2,
) -> Contours:
    """Lines within bounds, from cells of a given side; ``details`` are the width of the smallest of the shape.

    The other options are those of :meth:`seminorm.surfaces.Surface.contours`.
    """
    lines = contour(shape, bounds, cell, seeds=points, refine=refine)
    if not len(lines):
        raise ValueError("the function is nowhere zero near the points: give a smaller smoothness or tolerance.")
    support = _CurveSupport(points, details)
    if not keep_unsupported:
        lines = _with_data(lines, support)
    if boundary == "closed":
        return lines
    if boundary == "open":
        far = support.signal(lines.points, trim) > (FILLED if trim is None else 1.0)
        return _without(lines, far, support)
    return _without(lines, _outside(lines, support, bounds, _NEAR_BOX * cell, max_hole), support)


class _CurveSupport:
    """How far places are from data, in distances of neighbouring data there."""

    def __init__(self, points: np.ndarray, resolution: float):
        self.points, self.tree = points, cKDTree(points, balanced_tree=False, compact_nodes=False)
        k = min(_NEIGHBORS, len(points) - 1)
        distance = self.tree.query(points, k=k + 1, workers=thread_count())[0][:, -1]
        self.spacing = np.maximum(distance / (k / 2), resolution)

    @property
    def typical(self) -> float:
        """The median spacing."""
        return float(np.median(self.spacing))

    def signal(self, X: np.ndarray, unit: float | None = None) -> np.ndarray:
        """The distance of places (m, 2) over the spacing, or over a unit that is given."""
        distance, row = self.tree.query(X, workers=thread_count())
        return distance / (self.spacing[row] if unit is None else unit)


def _parts(lines: Contours) -> list[slice]:
    ends = np.cumsum([0, *map(len, lines.lines)])
    return [slice(begin, end) for begin, end in pairwise(ends)]


def _with_data(lines: Contours, support: _CurveSupport) -> Contours:
    """The lines of which a share is near data; in any case the one nearest to them."""
    near = support.signal(lines.points) <= FILLED
    share = np.array([near[part].mean() for part in _parts(lines)])
    kept = (share >= _SUPPORTED) | (share == share.max())
    parts = zip(_parts(lines), lines.closed.tolist(), kept, strict=True)
    return _chosen(lines, [(part, closed) for part, closed, is_kept in parts if is_kept])


def _chosen(lines: Contours, pieces: list[tuple[Any, bool]]) -> Contours:
    """Some of the points, as lines: rows, or slices, and whether they are closed."""
    normals = lines.normals
    assert normals is not None
    chosen = np.concatenate([normals[rows] for rows, _ in pieces]) if pieces else normals[:0]
    return Contours([lines.points[rows] for rows, _ in pieces], [closed for _, closed in pieces], chosen)


def _outside(lines: Contours, support: _CurveSupport, box, near_box: float, max_hole: float | None) -> np.ndarray:
    """Which points of lines are to go: stretches without data that reach the box, or protrude from the hull of the
    data, or are wider than ``max_hole``."""
    far = support.signal(lines.points) > _LEVEL
    to_box = np.minimum(lines.points - box[0], box[1] - lines.points).min(axis=1)
    beyond = (to_box < near_box) | _protruding(lines.points, support.points)
    outside = np.zeros(len(far), dtype=bool)
    for part, closed in zip(_parts(lines), lines.closed, strict=True):
        for rows in _runs(far[part], bool(closed)):
            rows = rows + part.start
            wide = max_hole is not None and np.linalg.norm(lines.points[rows[-1]] - lines.points[rows[0]]) > max_hole
            outside[rows] = wide or beyond[rows].any()
    return outside


def _protruding(X: np.ndarray, points: np.ndarray) -> np.ndarray:
    try:
        planes = ConvexHull(points).equations
    except QhullError:  # points on a line have no inside
        return np.ones(len(X), dtype=bool)
    limit = _PROTRUDES * float(np.linalg.norm(np.ptp(points, axis=0)))
    planes = planes[:: max(len(planes) // _HULL_SIDES, 1)]
    return (X @ planes[:, :2].T + planes[:, 2]).max(axis=1) > limit


def _runs(marked: np.ndarray, cyclic: bool) -> list[np.ndarray]:
    """Rows of each stretch of marked points, in order; the ends of a closed line are neighbours."""
    n = len(marked)
    if marked.all():
        return [np.arange(n)]
    start = int(np.argmin(marked)) if cyclic else 0
    turned = np.roll(marked, -start)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], turned, [False]]).astype(np.int8)))
    return [(np.arange(begin, end) + start) % n for begin, end in edges.reshape(-1, 2)]


def _without(lines: Contours, gone: np.ndarray, support: _CurveSupport) -> Contours:
    """The lines without some of their points; short pieces that are left go, too."""
    if not gone.any():
        return lines
    pieces: list[tuple[Any, bool]] = []
    short: list[tuple[Any, bool]] = []
    for part, closed in zip(_parts(lines), lines.closed, strict=True):
        if not gone[part].any():
            pieces.append((part, bool(closed)))
            continue
        for rows in _runs(~gone[part], bool(closed)):
            if len(rows) > 1:
                rows = rows + part.start
                length = np.linalg.norm(np.diff(lines.points[rows], axis=0), axis=1).sum()
                (pieces if length > _ISLAND * support.typical else short).append((rows, False))
    if not pieces and not short:
        raise ValueError("nothing of the curve is near the points: give a larger trim, or boundary='closed'.")
    return _chosen(lines, pieces or short)
