"""The table of marching cubes, derived from one rule: on a face of a cube the inside corners are kept apart.

Corner ``4 i + 2 j + k`` of the unit cube lies at (i, j, k); bit c of a case is set if corner c is inside. On every
face, the edges with a crossing are linked around the inside corners. The links depend on the face's four signs alone,
so two cubes that share a face agree on it. Following the links gives closed loops, which are cut into triangles by
diagonals through the interior of the cube: a diagonal within a face could be used by both cubes.
"""

from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

CORNERS = np.array([(c >> 2 & 1, c >> 1 & 1, c & 1) for c in range(8)], dtype=np.int64)
_EDGE_LIST = [(axis, c) for axis in range(3) for c in range(8) if not CORNERS[c, axis]]  # axis and lower corner
_EDGE_OF = {frozenset((c, c | 4 >> axis)): e for e, (axis, c) in enumerate(_EDGE_LIST)}
_MIDDLE = np.array([CORNERS[c] + 0.5 * np.eye(3)[axis] for axis, c in _EDGE_LIST])
_SHARE_FACE = ((_MIDDLE[:, None] == _MIDDLE) & (_MIDDLE != 0.5)).any(axis=-1).tolist()

Loop = tuple[int, ...]
Triangle = tuple[int, int, int]


class MarchingTable(NamedTuple):
    """The table for the compiled loops, int64: of each of 256 cases the number of triangles and, (256, most, 3), the
    edges whose crossings are their corners, counter-clockwise seen from outside (-1 where there is none); of each of 12
    edges its axis and the corner (12, 3) that it runs from.
    """

    counts: np.ndarray
    triangles: np.ndarray
    edge_axis: np.ndarray
    edge_corner: np.ndarray


@lru_cache(maxsize=1)
def marching_table() -> MarchingTable:
    """The table of all 256 cases."""
    cases = [[t for loop in loops_of_case(case) for t in triangulate(loop)] for case in range(256)]
    counts = np.array([len(triangles) for triangles in cases], dtype=np.int64)
    triangles = np.full((256, counts.max(), 3), -1, dtype=np.int64)
    for case, found in enumerate(cases):
        triangles[case, : len(found)] = np.reshape(found, (-1, 3))
    axes, corners = zip(*_EDGE_LIST, strict=True)
    return MarchingTable(counts, triangles, np.array(axes, dtype=np.int64), CORNERS[list(corners)])


def loops_of_case(case: int) -> list[Loop]:
    """Closed loops of edges with a crossing, counter-clockwise seen from outside the solid."""
    successor = {}
    for face in _faces():
        inside = [case >> corner & 1 for corner in face]
        for start in range(4):
            if inside[start] or not inside[(start + 1) % 4]:
                continue
            end = start + 1  # walk along the inside corners to the next crossing
            while inside[(end + 1) % 4]:
                end += 1
            enter, leave = (frozenset((face[n % 4], face[(n + 1) % 4])) for n in (start, end))
            successor[_EDGE_OF[enter]] = _EDGE_OF[leave]
    loops = []
    while successor:
        loop = [min(successor)]
        while (following := successor.pop(loop[-1])) != loop[0]:
            loop.append(following)
        loops.append(tuple(loop))
    return loops


def triangulate(loop: Loop) -> list[Triangle]:
    """Triangles of a loop without a diagonal in a face of the cube; the one of smallest area over edge midpoints."""
    allowed = [triangles for triangles in _triangulations(loop) if not _has_face_diagonal(loop, triangles)]
    if not allowed:
        raise ValueError(f"the loop {loop} has no triangulation through the interior of the cube.")
    return min(allowed, key=_area)


def _faces() -> Iterator[list[int]]:
    """The corners of the six faces, counter-clockwise seen from outside the cube."""
    for axis in range(3):
        first, second = 4 >> (axis + 1) % 3, 4 >> (axis + 2) % 3
        ring = [0, first, first | second, second]
        yield ring[::-1]
        yield [corner | 4 >> axis for corner in ring]


def _triangulations(polygon: Loop) -> Iterator[list[Triangle]]:
    """All ways to cut a polygon into triangles."""
    if len(polygon) < 3:
        yield []
        return
    first, last = polygon[0], polygon[-1]
    for n in range(1, len(polygon) - 1):
        for left in _triangulations(polygon[: n + 1]):
            for right in _triangulations(polygon[n:]):
                yield [(first, polygon[n], last), *left, *right]


def _has_face_diagonal(loop: Loop, triangles: list[Triangle]) -> bool:
    border = {frozenset(edge) for edge in pairwise((*loop, loop[0]))}
    sides = {frozenset(edge) for triangle in triangles for edge in pairwise((*triangle, triangle[0]))}
    return any(_SHARE_FACE[first][second] for first, second in sides - border)


def _area(triangles: list[Triangle]) -> float:
    return round(sum(map(_triangle_area, triangles)), 9)


@cache
def _triangle_area(triangle: Triangle) -> float:
    """Twice the area over the midpoints of three edges."""
    p, q, r = _MIDDLE[list(triangle)]
    return float(np.linalg.norm(np.cross(q - p, r - p)))
