"""Points near a surface that are not on it: what is left of outliers when those in empty space are gone.

The neighbours of a point, without the point itself, give a quadric. The height of the point over it is compared with
those of its neighbours over theirs: on a crease, and where there is noise, all of them are high.
"""

import numpy as np
from scipy.spatial import cKDTree

from .._base.threads import thread_count
from .normals.local_fits import NO_SIDES, fit_surfaces

_NEIGHBORS = 20
_USUAL, _HIGHER = 0.85, 3.0  # quantile of the heights of neighbours; times that
_LEAST = 0.05  # of the distance to the fifth neighbour: less does no harm
_FIFTH = 4
_ROUNDS = 3
_CHUNK = 2**16


def stray_points(points: np.ndarray, normals: np.ndarray | None = None) -> np.ndarray:
    """Which points (n, 3) lie higher over the surface of their neighbours than these do; normals tell sides apart.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.clouds.strays import stray_points
    >>> sphere = np.random.default_rng(0).standard_normal((1000, 3))
    >>> sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    >>> sphere[:3] *= 1.05
    >>> stray_points(sphere).nonzero()[0]
    array([0, 1, 2])
    """
    kept = np.arange(len(points))
    for _ in range(_ROUNDS):
        if len(kept) <= 2 * _NEIGHBORS:
            break
        stray = _strays(points[kept], None if normals is None else normals[kept])
        if not stray.any():
            break
        kept = kept[~stray]
    strays = np.ones(len(points), dtype=bool)
    strays[kept] = False
    return strays


def _strays(points: np.ndarray, normals: np.ndarray | None) -> np.ndarray:
    """Whether points are high, whether neighbours of the other side count or not: either may be wrong at creases."""
    distance, near = cKDTree(points).query(points, k=_NEIGHBORS + 1, workers=thread_count())
    near = np.ascontiguousarray(near[:, 1:])
    high = distance[:, 1 + _FIFTH] >= 0.0
    for sides in (NO_SIDES,) if normals is None else (NO_SIDES, np.ascontiguousarray(normals)):
        height = np.empty(len(points))
        for first in range(0, len(points), _CHUNK):
            rows = slice(first, first + _CHUNK)
            height[rows] = np.abs(fit_surfaces(points, points[rows], near[rows], sides, sides[rows])[1])
        high &= height > _HIGHER * np.quantile(height[near], _USUAL, axis=1)
        high &= height > _LEAST * distance[:, 1 + _FIFTH]
    return high
