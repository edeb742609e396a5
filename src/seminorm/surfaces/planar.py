"""Points of curves in the plane, made ready for a fit."""

from __future__ import annotations

import numpy as np

from .._base.rows import equal_rows
from .._base.warnings import warn_user
from ..clouds.normals.planar import CurveNeighborhoods, estimate_planar_normals, planar_table, points_off
from .preparation import ReadyPoints

_NEIGHBORS = 6
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
