"""Curves in the plane: points made ready for a fit, and the zero set as lines that end where data do."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial import ConvexHull, QhullError, cKDTree

from .._base.rows import equal_rows
from .._base.threads import thread_count
from .._base.warnings import warn_user
from ..clouds.normals.planar import CurveNeighborhoods, estimate_planar_normals, planar_table, points_off
from ..shapes.attributes import FILLED
from ..shapes.contours import Contours
from ..shapes.extraction.squares import contour
from .boundaries import BORDER, box_around, check_boundary, check_hole, check_resolution
from .preparation import ReadyPoints

if TYPE_CHECKING:
    from .surface import Surface

_BOUNDARIES = ("auto", "closed", "open")
_CELLS = 512  # along the longest side, of the coarsest lines by default
_WIDE_BORDER = 0.25  # of the longest side: box in which it is decided where lines end
_LEVEL = 1.0  # spacings beyond the last points, where an open line ends
_PROTRUDES = 0.09  # of the diagonal of the data: what lies farther outside their hull than this is outside
_NEAR_BOX = 3.0  # cells
_NEIGHBORS = 6
_SUPPORTED = 0.05  # share of a line's points that must lie near data
_ISLAND = 3.0  # spacings: shorter pieces go
_USUAL = 10.0  # neighbours of a normal, where cells are as wide as the points are apart


def ready_in_plane(points, normals, sensor, confidence, outliers: str) -> tuple[ReadyPoints, int]:
    """Valid points (n, 2) with unit normals, without points that are alone; and by how many levels the finest cells are
    wider than the points are apart, because of noise."""
    if outliers not in ("auto", "keep"):
        raise ValueError(f"outliers must be 'auto' or 'keep', got {outliers!r}.")
    given = planar_table(points, "points")
    if normals is not None and sensor is not None:
        raise ValueError("sensor orients normals that are estimated, and normals are given: leave out one of them.")
    directions = None if normals is None else planar_table(normals, "normals", len(given))
    kept, dropped = _valid(given, directions)
    alone = kept[:0]
    if outliers == "auto" and len(kept) > _NEIGHBORS:
        first = equal_rows(given[kept])[0]
        alone = kept[first[points_off(given[kept[first]])]]
        kept = np.setdiff1d(kept, alone)
        if len(alone):
            warn_user(
                f"{len(alone)} of {len(given)} points lie on no curve with others, and were set aside: "
                "details['outliers'] has the rows, and outliers='keep' uses them."
            )
    places = given[kept]
    weight = confidence if confidence is None or isinstance(confidence, str) else np.asarray(confidence)[kept]
    origin = "given"
    if directions is None:
        sight = np.asarray(sensor)[kept] if sensor is not None and np.ndim(sensor) == 2 else sensor
        found = estimate_planar_normals(places, sensor=sight)
        use, neighbors, origin = found.normals, found.n_neighbors, _origin(found.n_neighbors, found.oriented)
    else:
        use = directions[kept]
        first, group = equal_rows(places)
        neighbors = CurveNeighborhoods(places[first], np.bincount(group)).n_neighbors
    ready = ReadyPoints.of_arrays(places, use, confidence=weight, columns={}, unit_normals=True)
    ready = ReadyPoints(ready.points, ready.normals, ready.columns, {}, dropped, origin, alone)
    return ready, int(max(np.log2(neighbors / _USUAL), 0.0))


def _valid(points: np.ndarray, normals: np.ndarray | None) -> tuple[np.ndarray, dict[str, int]]:
    finite = np.isfinite(points).all(axis=1)
    good = finite if normals is None else finite & np.isfinite(normals).all(axis=1) & normals.any(axis=1)
    dropped = {"coordinates": int((~finite).sum()), "normals": int((finite & ~good).sum())}
    if not good.all():
        warn_user(
            f"{(~good).sum()} of {len(points)} points were left out: {dropped['coordinates']} with NaN or infinity in "
            f"the coordinates, {dropped['normals']} whose normal is zero or not finite."
        )
    return np.flatnonzero(good), dropped


def _origin(neighbors: int, oriented: str) -> str:
    if oriented == "consistent":
        warn_user(
            "the points do not show which side is the inside: the estimated normals agree with each other, and all of "
            "them may be the wrong way round. Give sensor=, or normals; contours(boundary='open') leaves out what the "
            "points do not cover."
        )
    return f"estimated from {neighbors} neighbours, signs: {oriented}"


def surface_contours(
    surface: Surface,
    resolution: float | None,
    boundary: str,
    trim: float | None,
    max_hole: float | None,
    keep_unsupported: bool,
    refine: int,
) -> Contours:
    """The zero set of a surface in the plane; see :meth:`Surface.contours`."""
    check_boundary(boundary, _BOUNDARIES, trim)
    check_resolution(resolution)
    check_hole(max_hole, boundary)
    points = surface.points
    longest = float(np.ptp(points, axis=0).max())
    cell = min(surface.resolution / 2, longest / _CELLS) if resolution is None else resolution
    box = box_around(points, _WIDE_BORDER if boundary == "auto" else BORDER)
    lines = contour(surface, box, cell, seeds=points, refine=refine)
    if not len(lines):
        raise ValueError("the function is nowhere zero near the points: give a smaller smoothness or tolerance.")
    support = _Support(points, surface.resolution)
    if not keep_unsupported:
        lines = _with_data(lines, support)
    if boundary == "closed":
        return lines
    if boundary == "open":
        far = support.signal(lines.points, trim) > (FILLED if trim is None else 1.0)
        return _without(lines, far, support)
    return _without(lines, _outside(lines, support, box, _NEAR_BOX * cell, max_hole), support)


class _Support:
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


def _with_data(lines: Contours, support: _Support) -> Contours:
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


def _outside(lines: Contours, support: _Support, box, near_box: float, max_hole: float | None) -> np.ndarray:
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
    planes = planes[:: max(len(planes) // 500, 1)]
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


def _without(lines: Contours, gone: np.ndarray, support: _Support) -> Contours:
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
