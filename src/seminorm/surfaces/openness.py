"""Open or closed, decided by geometry: which parts of a closed mesh no data support, and which of these are cut off.

A signal, the distance to the data over their spacing, is diffused over the mesh. Regions where it exceeds one have no
support. Such a region is outside, and is cut off, if it comes near the border of the box in which the surface was
looked for, or protrudes from the convex hull of the data. Otherwise it fills a hole, and stays. Triangles are cut along
the line on which the signal is one, which is smooth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import cg
from scipy.spatial import ConvexHull, QhullError

from ..shapes.attributes import Neighborhood, distance_and_spacing
from ..shapes.extraction.trimming import smoothed
from ..shapes.mesh import Mesh
from .boundaries import SMOOTHING

_LEVEL = 1.0  # spacings beyond the last points, where an open surface ends
_FAR = 10.0  # spacings; what is farther has no support, whatever is around it
_PROTRUDES = 0.09  # of the diagonal of the data
_NEAR_BOX = 3.0  # edges of the mesh
_ISLAND = 10.0  # squared spacings: smaller parts go
_LOOKS, _SEEN_FAR, _SEEN_SPACINGS = 4000, 0.03, 3.0  # places of a first look; distance over the diagonal, and spacings
_HULL_POINTS, _HULL_LOOKS = 20_000, 400
_SNAP = 0.05  # of an edge: crossings so near to its end are moved onto it
_CG_TOL, _CG_STEPS = 1e-3, 200


def looks_closed(mesh: Mesh, data: Neighborhood) -> bool:
    """Whether a first look at places all over the mesh finds none far from the data."""
    areas = _face_areas(mesh.vertices, mesh.faces)
    total = np.cumsum(areas)
    steps = (np.arange(_LOOKS) + 0.5) / _LOOKS * total[-1]
    rows = np.minimum(np.searchsorted(total, steps), len(areas) - 1)
    places = mesh.vertices[mesh.faces[rows]].mean(axis=1)
    distance, spacing = distance_and_spacing(data, places)
    diagonal = float(np.linalg.norm(np.ptp(data.points, axis=0)))
    return not ((distance > _SEEN_FAR * diagonal) & (distance > _SEEN_SPACINGS * spacing)).any()


@dataclass(frozen=True)
class _Support:
    """How well data support a mesh."""

    signal: np.ndarray  # (v,) diffused distance over spacing
    width: np.ndarray  # (v,) spacing, or the length of edges where that is larger
    region: np.ndarray  # (f,) number of the unsupported region of a face, -1 for none


def opened(
    mesh: Mesh, data: Neighborhood, bounds: tuple[np.ndarray, np.ndarray], max_hole: float | None = None
) -> Mesh | None:
    """The mesh without what lies outside, or None if nothing does.

    ``bounds`` are the box in which the surface was looked for. Regions wider than ``max_hole`` are left out even if
    they fill holes.
    """
    support = _support(mesh, data)
    number = int(support.region.max(initial=-1)) + 1
    if not number:
        return None
    outside = _is_outside(mesh, support, number, data.points, bounds)
    if max_hole is not None:
        outside |= _widths(mesh, support, number) > max_hole
    if not outside.any():
        return None
    unsupported = np.zeros(len(mesh.vertices), dtype=bool)
    unsupported[mesh.faces[(support.region >= 0) & outside[support.region]]] = True
    signal = np.where(unsupported, support.signal, np.minimum(support.signal, _LEVEL - 1e-3))
    return _without_islands(clipped(mesh, signal - _LEVEL), float(np.median(support.width)))


def _support(mesh: Mesh, data: Neighborhood) -> _Support:
    V, F = mesh.vertices, mesh.faces
    distance, spacing = distance_and_spacing(data, V)
    spacing = np.exp(smoothed(np.log(spacing), F, SMOOTHING))
    width = np.maximum(spacing, _typical_edge(mesh))
    signal = distance / width
    near = F[(signal[F] < _FAR).any(axis=1)]  # what lies farther from the data is unsupported anyway
    used, places = np.unique(near, return_inverse=True)
    signal[used] = _diffused(V[used], places.reshape(near.shape), np.minimum(signal[used], _FAR), width[used])
    far = np.flatnonzero(signal[F].mean(axis=1) > _LEVEL)
    region = np.full(len(F), -1)
    region[far] = _parts_by_edges(F[far], len(V))
    return _Support(signal, width, region)


def _is_outside(mesh: Mesh, support: _Support, number: int, points: np.ndarray, bounds) -> np.ndarray:
    """Which regions reach the box, or protrude from the hull of the data."""
    vertices, region = _vertices_of_regions(mesh, support)
    low, high = bounds
    places = mesh.vertices[vertices]
    to_box = np.minimum(places - low, high - places).min(axis=1)
    outside = np.zeros(number, dtype=bool)
    outside[region[to_box < _NEAR_BOX * _typical_edge(mesh)]] = True
    try:
        some = points[:: max(len(points) // _HULL_POINTS, 1)]
        planes = ConvexHull(some).equations
    except QhullError:  # flat data have no inside
        return np.ones(number, dtype=bool)
    limit = _PROTRUDES * float(np.linalg.norm(np.ptp(points, axis=0)))
    starts = np.flatnonzero(np.concatenate([[True], np.diff(region) > 0]))
    for first, last in zip(starts, [*starts[1:], len(region)], strict=True):
        looks = places[first : last : max((last - first) // _HULL_LOOKS, 1)]
        outside[region[first]] |= bool((looks @ planes[:, :3].T + planes[:, 3]).max() > limit)
    return outside


def _widths(mesh: Mesh, support: _Support, number: int) -> np.ndarray:
    """Diagonal of the box around each region."""
    vertices, region = _vertices_of_regions(mesh, support)
    starts = np.flatnonzero(np.concatenate([[True], np.diff(region) > 0]))
    places = mesh.vertices[vertices]
    extent = np.maximum.reduceat(places, starts) - np.minimum.reduceat(places, starts)
    widths = np.zeros(number)
    widths[region[starts]] = np.linalg.norm(extent, axis=1)
    return widths


def _vertices_of_regions(mesh: Mesh, support: _Support) -> tuple[np.ndarray, np.ndarray]:
    """Vertices of unsupported faces and their regions, ordered by region."""
    far = np.flatnonzero(support.region >= 0)
    vertices, region = mesh.faces[far].ravel(), np.repeat(support.region[far], 3)
    order = np.argsort(region, kind="stable")
    return vertices[order], region[order]


def clipped(mesh: Mesh, values: np.ndarray) -> Mesh:
    """The part of a mesh where values (v,) are negative; triangles are cut where they vanish, linearly along edges."""
    F, values = mesh.faces.astype(np.int64), _snapped(mesh.faces, np.asarray(values, dtype=float))
    sign = np.sign(values).astype(np.int8)[F]
    below, above = (sign < 0).sum(axis=1), (sign > 0).sum(axis=1)
    whole = F[(above == 0) & (below > 0)]
    mixed = np.flatnonzero((above > 0) & (below > 0))
    cut = F[mixed]
    edges = np.sort(np.stack([cut, np.roll(cut, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)  # 01, 12, 20 of each
    crossing = values[edges[:, 0]] * values[edges[:, 1]] < 0
    distinct, inverse = np.unique(edges[crossing], axis=0, return_inverse=True)
    share = (values[distinct[:, 0]] / (values[distinct[:, 0]] - values[distinct[:, 1]]))[:, None]
    at_edge = np.full(len(edges), -1)
    at_edge[crossing] = len(mesh.vertices) + inverse.ravel()
    corners = np.where(sign[mixed] <= 0, cut, -1)
    around = np.stack([corners, at_edge.reshape(-1, 3)], axis=2).reshape(-1, 6)  # corner, edge, corner, edge, ...
    polygon = np.take_along_axis(around, np.argsort(around < 0, axis=1, kind="stable"), axis=1)[:, :4]
    second = polygon[polygon[:, 3] >= 0]
    faces = np.concatenate([whole, polygon[:, :3], second[:, [0, 2, 3]]])

    def extended(column: np.ndarray) -> np.ndarray:
        return np.concatenate([column, column[distinct[:, 0]] * (1 - share) + column[distinct[:, 1]] * share])

    vertices, normals = extended(mesh.vertices), mesh.normals
    if normals is not None:
        normals = extended(normals)
        normals = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    used = np.zeros(len(vertices), dtype=bool)
    used[faces] = True
    place = np.cumsum(used) - 1
    return Mesh(vertices[used], place[faces], None if normals is None else normals[used])


def _snapped(faces: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values that vanish at vertices very near to a crossing, so that no slivers are cut."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    a, b = values[edges[:, 0]], values[edges[:, 1]]
    crossing = a * b < 0
    edges, share = edges[crossing], a[crossing] / (a[crossing] - b[crossing])
    values = values.copy()
    values[edges[share < _SNAP, 0]] = 0.0
    values[edges[share > 1.0 - _SNAP, 1]] = 0.0
    return values


def _without_islands(mesh: Mesh, width: float) -> Mesh:
    """Without parts that are smaller than a few squared spacings; all of it if there would be nothing else."""
    if not len(mesh.faces):
        return mesh
    label = _parts_by_edges(mesh.faces, len(mesh.vertices))
    areas = np.bincount(label, _face_areas(mesh.vertices, mesh.faces))
    kept = (areas >= _ISLAND * width**2)[label]
    return mesh.keep(kept) if kept.any() and not kept.all() else mesh


def _parts_by_edges(faces: np.ndarray, n: int) -> np.ndarray:
    """Numbers of the parts of faces that are joined by edges."""
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1).astype(np.int64)
    keys, owner = edges[:, 0] * n + edges[:, 1], np.tile(np.arange(len(faces)), 3)
    order = np.argsort(keys, kind="stable")
    same = np.flatnonzero(keys[order][1:] == keys[order][:-1])
    links = owner[order][same], owner[order][same + 1]
    graph = sparse.coo_array((np.ones(len(same)), links), shape=(len(faces), len(faces)))
    return connected_components(graph, directed=False)[1]


def _diffused(V: np.ndarray, F: np.ndarray, values: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Values (v,) diffused over lengths (v,) along the mesh: (M + L) x = M values, L the cotangent stiffness."""
    n, areas = len(V), _face_areas(V, F)
    mass = np.bincount(F.ravel(), np.repeat(areas / 3.0, 3), minlength=n)
    mass = np.maximum(mass, 1e-12 * mass.mean())
    rows, columns, weights = [], [], []
    for k in range(3):
        i, j, apex = F[:, (k + 1) % 3], F[:, (k + 2) % 3], F[:, k]
        cotangent = np.einsum("ij,ij->i", V[i] - V[apex], V[j] - V[apex]) / np.maximum(2.0 * areas, 1e-300)
        weight = np.clip(0.5 * cotangent, 0.0, 5.0) * 0.5 * (length[i] ** 2 + length[j] ** 2)
        rows += [i, j]
        columns += [j, i]
        weights += [weight, weight]
    W = sparse.coo_array(
        (np.concatenate(weights), (np.concatenate(rows), np.concatenate(columns))), shape=(n, n)
    ).tocsr()
    K = (sparse.diags_array(mass + np.asarray(W.sum(axis=1)).ravel()) - W).tocsr()
    scale = sparse.diags_array(1.0 / K.diagonal())
    return cg(K, mass * values, x0=values, rtol=_CG_TOL, maxiter=_CG_STEPS, M=scale)[0]


def _typical_edge(mesh: Mesh) -> float:
    ends = mesh.vertices[mesh.faces[:, 0]] - mesh.vertices[mesh.faces[:, 1]]
    return float(np.median(np.linalg.norm(ends, axis=1)))


def _face_areas(V: np.ndarray, F: np.ndarray) -> np.ndarray:
    return 0.5 * np.linalg.norm(np.cross(V[F[:, 1]] - V[F[:, 0]], V[F[:, 2]] - V[F[:, 0]]), axis=1)
