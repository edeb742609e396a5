"""Creases of a mesh that a smooth function rounded off.

Vertices near a crease move onto the side that they belong to, and mesh edges between two sides are split where the
sides meet, so that the crease becomes a chain of mesh edges [Attene et al. 2005]; faces between three sides get a
corner inside. Vertices are added, and none removed: topology and borders stay. Where a face would fold over, a vertex
goes onto the crease, or its vertices stay where they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ...clouds.cloud import unit_rows
from .sides import CreaseSides, OrientedData, Places

_TURN = np.cos(np.radians(8.0))  # normals of neighbouring vertices that turn less show no crease
_LOOKS = 1000  # vertices that are tried first
_SMALL = 4.0  # cells: creases that are shorter are left out
_APART = np.cos(np.radians(20.0))  # normals at both ends of an edge that crosses a crease
_UPRIGHT = 0.5  # least cosine of the angle between a face and the normals of its vertices
_TINY = 1e-4  # squared cells: the area of a face without a direction
_BEYOND = 0.35  # cells from which a vertex whose faces fold over goes onto the crease
_ROUNDS = 20  # of leaving out vertices whose faces fold over
_FLATTER = 0.01  # what a plane must add at a corner, of what the others say


class Sharpened(NamedTuple):
    """A mesh with creases, and the normals of the vertices that were placed; zero for those that were left alone."""

    vertices: np.ndarray
    faces: np.ndarray
    normals: np.ndarray


class Edges(NamedTuple):
    """The edges of a mesh (e, 2), and those of each face (f, 3), opposite its first, second and third corner."""

    ends: np.ndarray
    of_face: np.ndarray

    @classmethod
    def of(cls, faces: np.ndarray, n_vertices: int) -> Edges:
        """All edges, once each."""
        ends = np.sort(faces[:, [[1, 2], [2, 0], [0, 1]]].reshape(-1, 2).astype(np.int64), axis=1)
        keys, number = np.unique(ends[:, 0] * n_vertices + ends[:, 1], return_inverse=True)
        return cls(np.stack(np.divmod(keys, n_vertices), axis=1), number.reshape(-1, 3))


def sharpened(vertices: np.ndarray, faces: np.ndarray, evidence: OrientedData, *, all_creases: bool = False):
    """The mesh with its creases resolved, as far as the data show them; None if they show none.

    The creases of a mesh are resolved if they explain most of its bends; with ``all_creases``, each one for itself.
    """
    smooth = _mean_normals(vertices, faces)
    rows = _bent(smooth, faces)
    if not all_creases and len(rows) > _LOOKS:
        some = rows[:: -(-len(rows) // _LOOKS)]
        if not _places(vertices, some, evidence)[1]:
            return None
    if not len(rows):
        return None
    places, many = _places(vertices, rows, evidence)
    if not (many or all_creases):
        return None
    edges = Edges.of(faces, len(vertices))
    places.near &= _in_large_parts(vertices, places, edges.ends, _SMALL * evidence.cell)
    for _ in range(_ROUNDS):
        if not places.near.any():
            return None
        result, folded = _resolved(vertices, faces, smooth, places, edges, evidence.cell)
        if not len(folded):
            return result
        _give_way(places, folded, _BEYOND * evidence.cell)
    return None


def _give_way(places: Places, folded: np.ndarray, reach: float) -> None:
    """Of each face that folds over, the corner that is nearest to a crease goes onto it, if it is within reach and was
    not there; else all corners stay as they were."""
    place = np.full(max(int(places.rows.max()), int(folded.max())) + 1, -1)
    place[places.rows[places.near]] = np.flatnonzero(places.near)
    corners = place[folded]
    distance = np.linalg.norm(places.crease - places.points, axis=1)
    distance = np.where((corners >= 0) & ~places.on_crease[corners], distance[corners], np.inf)
    nearest = distance.argmin(axis=1)[:, None]
    reached = np.take_along_axis(distance, nearest, axis=1)[:, 0] < reach
    places.on_crease[np.take_along_axis(corners, nearest, axis=1)[reached]] = True
    places.near &= ~np.isin(places.rows, folded[~reached])


def _bent(normals: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Rows of the vertices near which the mesh bends."""
    bent, near = (np.zeros(len(normals), dtype=bool) for _ in range(2))
    for a, b in ((0, 1), (1, 2), (2, 0)):
        ends = faces[:, [a, b]]
        turned = (normals[ends[:, 0]] * normals[ends[:, 1]]).sum(axis=1) < _TURN
        bent[ends[turned].ravel()] = True
    near[faces[bent[faces].any(axis=1)].ravel()] = True
    return np.flatnonzero(near)


def _mean_normals(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    of_face = np.cross(b - a, c - a)
    sums = [np.bincount(faces.ravel(), np.repeat(of_face[:, axis], 3), len(vertices)) for axis in range(3)]
    return unit_rows(np.stack(sums, axis=1))


def _places(vertices: np.ndarray, rows: np.ndarray, evidence: OrientedData) -> tuple[Places, bool]:
    """Where vertices belong, and whether creases explain most of the data around them."""
    X = vertices[rows]
    values, gradients = evidence.jet(X)
    lengths = np.maximum((gradients**2).sum(axis=1), 0.1)
    X = X - (values / lengths)[:, None] * gradients
    normals = unit_rows(evidence.jet(X)[1])
    return Places.of(rows, CreaseSides.fit(evidence, X, normals), normals, evidence)


def _in_large_parts(vertices: np.ndarray, places: Places, ends: np.ndarray, width: float) -> np.ndarray:
    """Which places belong to connected parts that are wider than a width."""
    place = np.full(len(vertices), -1)
    place[places.rows[places.near]] = np.flatnonzero(places.near)
    a, b = place[ends].T
    inside = (a >= 0) & (b >= 0)
    m = len(places.rows)
    graph = sparse.coo_array((np.ones(inside.sum(), dtype=bool), (a[inside], b[inside])), shape=(m, m))
    count, part = connected_components(graph.tocsr(), directed=False)
    low, high = np.full((count, 3), np.inf), np.full((count, 3), -np.inf)
    np.minimum.at(low, part, places.points)
    np.maximum.at(high, part, places.points)
    return (high - low).max(axis=1)[part] > width


def _resolved(
    vertices: np.ndarray, faces: np.ndarray, smooth: np.ndarray, places: Places, edges: Edges, cell: float
) -> tuple[Sharpened, np.ndarray]:
    """The mesh with creases between places that are near one, and the old faces of which new ones fold over."""
    n, kept = len(vertices), np.flatnonzero(places.near)
    place = np.full(n, -1)
    place[places.rows[kept]] = kept
    moved, normals, rows, snapped = vertices.copy(), np.zeros_like(vertices), places.rows[kept], places.on_crease[kept]
    moved[rows] = np.where(snapped[:, None], places.crease[kept], places.points[kept])
    between = unit_rows(places.normals[kept] + places.others[kept])
    normals[rows] = np.where(snapped[:, None], between, places.normals[kept])
    crossing, points, across = _crossings(moved, places, place[edges.ends], edges.ends, cell)
    number = np.full(len(edges.ends), -1)
    number[crossing] = n + np.arange(len(crossing))
    touched = np.flatnonzero((place[faces] >= 0).any(axis=1))
    near, middles = faces[touched].astype(np.int64), number[edges.of_face[touched]]
    three = (middles >= 0).all(axis=1)
    corners = _corner_points(moved[near[three]], normals[near[three]], points[middles[three] - n], cell)
    around = unit_rows(normals[near[three]].sum(axis=1))
    everywhere = np.concatenate([moved, points, corners])
    new, origin = split_faces(near, middles, n + len(points), everywhere)
    sure = np.where(normals.any(axis=1, keepdims=True), normals, smooth)
    sure[rows[snapped]] = 0.0
    folded = touched[np.unique(origin[_folded(everywhere, new, sure, _TINY * cell**2)])]
    whole = np.concatenate([np.delete(faces, touched, axis=0), new.astype(faces.dtype)])
    return Sharpened(everywhere, whole, np.concatenate([normals, across, around])), faces[folded]


def _crossings(
    moved: np.ndarray, places: Places, place: np.ndarray, ends: np.ndarray, cell: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of the edges between two sides, where the sides meet near them, and normals in between."""
    rows = np.flatnonzero((place >= 0).all(axis=1))
    a, b = place[rows].T
    agreement = (places.normals[a] * places.normals[b]).sum(axis=1)
    for one, other in ((a, b), (b, a)):  # a vertex on a crease belongs to both sides
        sides = places.on_crease[one], (places.others[one] * places.normals[other]).sum(axis=1)
        agreement = np.maximum(agreement, np.where(sides[0], sides[1], -1.0))
    both = places.on_crease[a] & places.on_crease[b]
    agreement = np.maximum(agreement, np.where(both, (places.others[a] * places.others[b]).sum(axis=1), -1.0))
    apart = agreement < _APART
    rows, a, b = rows[apart], a[apart], b[apart]
    middle = moved[ends[rows]].mean(axis=1)
    crease, cosine = places.sides.meeting((a, places.number[a]), (b, places.number[b]), middle)
    good = (np.linalg.norm(crease - middle, axis=1) < cell) & (cosine < _APART)
    a, b = a[good], b[good]
    return rows[good], crease[good], unit_rows(places.normals[a] + places.normals[b])


def _corner_points(corners: np.ndarray, normals: np.ndarray, middles: np.ndarray, cell: float) -> np.ndarray:
    """Where the sides of the three corners (m, 3, 3) of faces meet, in the sense of least squares, within a cell of the
    middle of the points on their edges."""
    start = middles.mean(axis=1)
    rest = (normals * (corners - start[:, None])).sum(axis=2)
    turned = normals.transpose(0, 2, 1)
    matrix = (turned[..., None] * normals[:, None]).sum(axis=2) + _FLATTER * np.eye(3)
    step = np.linalg.solve(matrix, (turned * rest[:, None]).sum(axis=2)[..., None])[..., 0]
    length = np.linalg.norm(step, axis=1, keepdims=True)
    return start + step * np.minimum(1.0, cell / np.maximum(length, 1e-300))


def split_faces(
    faces: np.ndarray, middles: np.ndarray, first_center: int, points: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Faces whose edges are split: ``middles`` (f, 3) are the vertices on the edges opposite the corners, or -1. Faces
    with three of them get one more inside, numbered from ``first_center``. Returns the new faces and the old one of
    each; of two diagonals the shorter one is taken."""
    count, every = (middles >= 0).sum(axis=1), np.arange(len(faces))
    parts, origin = [faces[count == 0]], [every[count == 0]]

    def turned(rows: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        order = (first[:, None] + np.arange(3)) % 3
        return np.take_along_axis(faces[rows], order, axis=1).T, np.take_along_axis(middles[rows], order, axis=1).T

    def add(rows: np.ndarray, *triangles) -> None:
        parts.extend(np.stack(triangle, axis=1) for triangle in triangles)
        origin.extend([rows] * len(triangles))

    rows = every[count == 1]
    (a, b, c), (on_bc, _, _) = turned(rows, (middles[rows] >= 0).argmax(axis=1))
    add(rows, (a, b, on_bc), (a, on_bc, c))
    rows = every[count == 2]
    (a, b, c), (_, on_ca, on_ab) = turned(rows, (middles[rows] < 0).argmax(axis=1))
    to_c = np.linalg.norm(points[on_ab] - points[c], axis=1) < np.linalg.norm(points[on_ca] - points[b], axis=1)
    add(rows, (a, on_ab, on_ca), (on_ab, b, np.where(to_c, c, on_ca)), (np.where(to_c, on_ab, b), c, on_ca))
    rows = every[count == 3]
    (a, b, c), (on_bc, on_ca, on_ab) = turned(rows, np.zeros(len(rows), dtype=np.int64))
    z = first_center + np.arange(len(rows))
    add(rows, (a, on_ab, z), (on_ab, b, z), (b, on_bc, z), (on_bc, c, z), (c, on_ca, z), (on_ca, a, z))
    return np.concatenate(parts), np.concatenate(origin)


def _folded(points: np.ndarray, faces: np.ndarray, normals: np.ndarray, tiny: float) -> np.ndarray:
    """Which faces look away from the normals (n, 3) of their corners among the first n points, if known."""
    a, b, c = (points[faces[:, k]] for k in range(3))
    area = np.cross(b - a, c - a)
    size = np.linalg.norm(area, axis=1)
    old = faces < len(normals)
    expected = unit_rows((normals[np.where(old, faces, 0)] * old[..., None]).sum(axis=1))
    return (size > tiny) & expected.any(axis=1) & ((area * expected).sum(axis=1) < _UPRIGHT * size)
