"""Which normals few points get: those of the smoothest function, or those from their neighbours."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from ...._base.memory import require_memory
from ....solvers.unit_blocks import unit_blocks
from ..estimate import Estimate
from ..orientation import upward
from .gradient_energy import DegenerateTrendError, GradientCovariance
from .minimum import Minimum, continued, distances_from, smoothest_normals

_FEW = 500  # points, up to which all take part at once
_SOME = 300  # points that decide about more
_APART = 1e-4  # distance, in diagonals, of points that are told apart
_WHOLE, _SAME = 1000, 0.004  # points that are not many, and twice the share of sides that may differ
_ALIKE = 0.85  # median cosine of normals that are alike: those along curves have no neighbours to come from
_AS_GOOD, _FINE = 1.02, 0.02  # distance of points that took no part, over the least, or over that of neighbours
_NEAR = 4.0  # standard deviations of the function, within which a point follows the others
_DOUBT = 0.03  # squared angle at which confidence is one half


def estimate_from_all(X: np.ndarray, propagated: Estimate, *, checked: bool) -> Estimate:
    """Normals of points X (n, 3), of diagonal 1, by the smoothest function.

    Of more than 500 points, 300 are taken first, and the others show which normals are better. If ``checked``, the
    ``propagated`` ones stay where these are as good: dense points know their normals from their neighbours.
    """
    rows = spread_rows(X, _FEW, _APART)
    if len(rows) < _FEW or len(rows) == len(X):
        few = smoothest_normals(X[rows], propagated.normals[rows])
        return _estimate(few, _extended(few, X, rows))
    rows = spread_rows(X, _SOME, _APART)
    part = smoothest_normals(X[rows], propagated.normals[rows], np.delete(X, rows, axis=0))
    sides = _extended(part, X, rows)
    if checked and (not part.clear or _known_as_well(part, propagated.normals, sides, X, rows)):
        details = {**_told(part), "method": "propagation"}
        if not (part.clear and part.closed):
            return replace(propagated, details=details)
        sign = np.sign((part.normals * propagated.normals[rows]).sum()) or 1.0
        return replace(propagated, normals=sign * propagated.normals, oriented="outwards", details=details)
    rows = spread_rows(X, len(X), _APART)
    whole = continued(X[rows], sides[rows], part)
    return _estimate(whole, _extended(whole, X, rows))


def follow_others(X: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Which points X (n, 3), of diagonal 1, may lie on the smoothest surface of the others, given by a mask.

    The function of the others differs from zero there by no more than a few of its standard deviations. No points do
    where it is in doubt.
    """
    known = X[others]
    try:
        part = smoothest_normals(known[spread_rows(known, _FEW, _APART)])
    except DegenerateTrendError:
        return np.zeros(len(X), dtype=bool)
    near = np.zeros(len(X), dtype=bool)
    if part.clear:
        near[~others] = np.abs(part.function()(X[~others])) <= _NEAR * part.deviation(X[~others])
    return near


def _known_as_well(part: Minimum, normals: np.ndarray, sides: np.ndarray, X: np.ndarray, rows: np.ndarray) -> bool:
    """Whether given normals (n, 3) are as good as those of the smoothest function through some rows.

    They are much like its own there, and the function that has the given ones is as near to the other points, or nearer
    than matters. Of a thousand points or less, all must look to the same sides.
    """
    if len(X) <= _WHOLE and abs(np.sign((sides * normals).sum(axis=1)).mean()) < 1.0 - _SAME:
        return False
    if np.median(np.abs((part.normals * normals[rows]).sum(axis=1))) < _ALIKE:
        return False
    rest = np.delete(X, rows, axis=0)
    own, given = (float(distances_from(part.function(some), rest).mean()) for some in (part.normals, normals[rows]))
    spacing = float(np.median(cKDTree(X).query(X, k=2)[0][:, 1]))
    return given <= max(_AS_GOOD * own, _FINE * spacing)


def spread_rows(X: np.ndarray, most: int, apart: float) -> np.ndarray:
    """Rows of at most so many points, each as far as possible from those before it, and at least ``apart``; sorted."""
    distance = np.linalg.norm(X - X.mean(axis=0), axis=1)
    rows = [int(distance.argmax())]
    distance = np.linalg.norm(X - X[rows[0]], axis=1)
    while len(rows) < most and distance.max() > apart:
        rows.append(int(distance.argmax()))
        np.minimum(distance, np.linalg.norm(X - X[rows[-1]], axis=1), out=distance)
    return np.sort(rows)


def _extended(part: Minimum, X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Normals of all points from those of some rows, by the gradients of their function."""
    if len(rows) == len(X):
        return part.normals
    normals = unit_blocks(part.function().gradient(X))
    normals[rows] = part.normals
    return normals


def _estimate(found: Minimum, normals: np.ndarray) -> Estimate:
    confidence = np.full(len(normals), 1.0 / (1.0 + float(np.median(found.variance)) / _DOUBT))
    if len(found.variance) == len(normals):
        confidence = 1.0 / (1.0 + found.variance / _DOUBT)
    if found.closed:
        return Estimate(normals, confidence, "outwards", len(normals), _told(found))
    return Estimate(upward(normals.sum(axis=0)) * normals, confidence, "consistent", len(normals), _told(found))


def _told(found: Minimum) -> dict[str, Any]:
    """What :class:`OrientedCloud` tells of a minimum."""
    told = {name: getattr(found, name) for name in ("alpha", "gap", "certified", "distance")}
    return {"method": "variational", **told}


def require_memory_for(n: int) -> None:
    """Raise NotEnoughMemoryError if the energy of n points does not fit into memory."""
    needed = GradientCovariance.bytes_needed(n, 3)
    advice = "take method='auto' or 'propagation', or thin the points with seminorm.clouds.thin."
    require_memory(needed, f"the energy of the normals of {n} points", advice)
