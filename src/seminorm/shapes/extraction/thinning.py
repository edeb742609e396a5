"""Leaving out vertices of a mesh where it is flat.

Vertices are moved onto neighbours as long as the mesh stays within a deviation of what it was, by the quadrics of
Garland and Heckbert (1997). The vertices that stay keep their places; topology and borders do not change.
"""

import numpy as np

from ... import _native

_PART = 2**15  # vertices that are worked on at a time: vertices near the border of a part wait for the second pass
QUALITY = 0.4  # least of new triangles, 4 sqrt(3) area / (sum of the squared sides)
_TURN = 0.6  # least cosine of the angle by which a triangle turns
_CREASED = 0.85  # sum of area vectors around a vertex over their lengths: below, each is compared with itself
_LARGEST_FAN = 10
_ROUNDS = 24


def thinned(
    vertices: np.ndarray, faces: np.ndarray, deviation: float, longest: float = np.inf, quality: float = QUALITY
) -> tuple[np.ndarray, np.ndarray]:
    """Which vertices stay, ascending, and the faces between them, numbered among those that stay.

    ``deviation`` is the root of the mean squared distance by which a vertex may miss the planes of the triangles it
    stands for, ``longest`` the longest edge of new triangles, ``quality`` their least one.
    """
    faces = faces.copy()
    vertices = np.ascontiguousarray(vertices, dtype=float)
    stays = np.arange(len(vertices))
    for shifted in (False, True):
        gone = np.empty(len(vertices), dtype=np.bool_)
        starts = _starts(len(vertices), shifted)
        limits = deviation, longest, quality, _TURN, _CREASED, _LARGEST_FAN, _ROUNDS
        _native.thin_mesh(vertices, faces, starts, *limits, gone)
        number = np.cumsum(~gone, dtype=faces.dtype) - 1
        faces = number[faces[faces[:, 0] >= 0]]
        stays, vertices = stays[~gone], vertices[~gone]
    return stays, faces


def _starts(n: int, shifted: bool) -> np.ndarray:
    """Ends of the parts; in the second pass parts begin half-way."""
    first = _PART // 2 if shifted else _PART
    return np.concatenate([[0], np.arange(first, n, _PART), [n]]).astype(np.int64)
