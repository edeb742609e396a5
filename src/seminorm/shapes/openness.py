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
from scipy.sparse.linalg import cg
from scipy.spatial import ConvexHull, QhullError

from .attributes import Neighborhood, distance_and_spacing
from .clipping import clipped
from .extraction.marching import component_labels
from .extraction.thinning import thinned
from .extraction.trimming import SMOOTHING, near_cells, smoothed
from .mesh import Mesh

_LEVEL = 1.0  # spacings beyond the last points, where an open surface ends
_FAR = 10.0  # spacings; what is farther has no support, whatever is around it,
_REACH = 5.0  # nor has what is farther than this or twice this: it is looked at no more closely
_EDGES = 100_000  # of which the typical length is found
_PROTRUDES = 0.09  # of the diagonal of the data
_NEAR_BOX = 3.0  # edges of the mesh
_ISLAND = 10.0  # squared spacings: smaller parts go
_LOOKS, _SEEN_FAR, _SEEN_SPACINGS = 4000, 0.03, 3.0  # places of a first look; distance over the diagonal, and spacings
_HULL_POINTS, _HULL_LOOKS = 5000, 400  # vertices of a region that are looked at
_CHUNK = 2**12
_CG_TOL, _CG_STEPS = 1e-3, 200


def looks_closed(vertices: np.ndarray, data: Neighborhood) -> bool:
    """Whether a first look at vertices all over a mesh finds none far from the data."""
    places = vertices[np.unique(np.linspace(0, len(vertices) - 1, _LOOKS).astype(np.int64))]
    distance, spacing = distance_and_spacing(data, places)
    diagonal = float(np.linalg.norm(np.ptp(data.points, axis=0)))
    return not ((distance > _SEEN_FAR * diagonal) & (distance > _SEEN_SPACINGS * spacing)).any()


@dataclass(frozen=True)
class _Support:
    """How well data support a mesh, which is thinned near the data."""

    vertices: np.ndarray
    faces: np.ndarray  # near the data first
    signal: np.ndarray  # (v,) diffused distance over spacing; the largest far from the data
    region: np.ndarray  # (f,) number of the unsupported region of a face, -1 for none
    width: float  # typical spacing, or length of edges where that is larger

    def region_vertices(self) -> tuple[np.ndarray, np.ndarray]:
        """Vertices of unsupported faces and their regions, ordered by region; a vertex is in one of them."""
        of_vertex = np.full(len(self.vertices), -1, dtype=self.region.dtype)
        far = self.region >= 0
        for corner in range(3):
            of_vertex[self.faces[far, corner]] = self.region[far]
        vertices = np.flatnonzero(of_vertex >= 0)
        order = np.argsort(of_vertex[vertices], kind="stable")
        return vertices[order], of_vertex[vertices[order]]


def opened(
    mesh: Mesh,
    data: Neighborhood,
    bounds: tuple[np.ndarray, np.ndarray],
    *,
    deviation: float = 0.0,
    max_hole: float | None = None,
) -> Mesh | None:
    """The mesh without what lies outside, or None if nothing does.

    ``bounds`` are the box in which the surface was looked for. The mesh is thinned by a ``deviation``. Regions wider
    than ``max_hole`` are left out even if they fill holes.
    """
    support = _support(mesh, data, deviation)
    number = int(support.region.max(initial=-1)) + 1
    if not number:
        return None
    outside = _is_outside(support, number, data.points, bounds, _NEAR_BOX * _typical_edge(mesh.vertices, mesh.faces))
    if max_hole is not None:
        outside |= _widths(support, number) > max_hole
    if not outside.any():
        return None
    unsupported = np.zeros(len(support.vertices), dtype=bool)
    out = (support.region >= 0) & outside[support.region]
    unsupported[support.faces[out]] = True
    signal = np.where(unsupported, support.signal, np.minimum(support.signal, _LEVEL - 1e-3))
    left = Mesh(support.vertices, support.faces[~out | (signal[support.faces] < _LEVEL).any(axis=1)])
    return _without_islands(clipped(left, signal - _LEVEL), support.width)


def _support(mesh: Mesh, data: Neighborhood, deviation: float) -> _Support:
    V, F = mesh.vertices, mesh.faces
    is_near = _near_data(V, data)[F].any(axis=1)
    near = mesh.keep(is_near)
    places = np.flatnonzero(np.bincount(F[is_near].ravel(), minlength=len(V)))  # of its vertices in the mesh
    faces = near.faces
    if deviation > 0:
        rows, faces = thinned(near.vertices, near.faces, deviation, max(data.typical, _typical_edge(V, F)))
        places = places[rows]
    part = Mesh(V[places], faces)
    distance, spacing = distance_and_spacing(data, part.vertices)
    spacing = np.exp(smoothed(np.log(spacing), faces, SMOOTHING))
    width = np.maximum(spacing, _typical_edge(part.vertices, faces))
    signal = np.full(len(V), _FAR)
    signal[places] = _diffused(part, np.minimum(distance / width, _FAR), width)
    F = np.concatenate([places.astype(F.dtype)[faces], F[~is_near]])
    far = np.flatnonzero(signal[F].mean(axis=1) > _LEVEL)
    region = np.full(len(F), -1, dtype=np.int32)
    labels = component_labels(F[far], len(V))[F[far, 0]]
    found = np.zeros(len(V), dtype=bool)
    found[labels] = True
    region[far] = np.cumsum(found, dtype=np.int32)[labels] - 1
    return _Support(V, F, signal, region, float(np.median(width)))


def _near_data(X: np.ndarray, data: Neighborhood) -> np.ndarray:
    """Which places lie within a few spacings of data, that is, nearer than those beyond which nothing is supported."""
    octave = np.round(np.log2(data.spacing(np.arange(len(data.points))) / data.typical)).clip(min=0)
    near = np.zeros(len(X), dtype=bool)
    for k in np.unique(octave):
        left = np.flatnonzero(~near)
        near[left] = near_cells(X[left], data.points[octave == k], _REACH * 2.0**k * data.typical)
    return near


def _is_outside(support: _Support, number: int, points: np.ndarray, bounds, near_box: float) -> np.ndarray:
    """Which regions reach the box, or protrude from the hull of the data."""
    vertices, region = support.region_vertices()
    low, high = bounds
    places = support.vertices[vertices]
    to_box = np.minimum(places - low, high - places).min(axis=1)
    outside = np.zeros(number, dtype=bool)
    outside[region[to_box < near_box]] = True
    try:
        planes = ConvexHull(points[:: max(len(points) // _HULL_POINTS, 1)]).equations
    except QhullError:  # flat data have no inside
        return np.ones(number, dtype=bool)
    limit = _PROTRUDES * float(np.linalg.norm(np.ptp(points, axis=0)))
    starts = np.flatnonzero(np.concatenate([[True], np.diff(region) > 0]))
    ends = zip(starts, [*starts[1:], len(region)], strict=True)
    looks = np.concatenate([np.arange(first, last, max((last - first) // _HULL_LOOKS, 1)) for first, last in ends])
    looks = looks[~outside[region[looks]]]
    for begin in range(0, len(looks), _CHUNK):
        part = looks[begin : begin + _CHUNK]
        protrudes = (places[part] @ planes[:, :3].T + planes[:, 3]).max(axis=1) > limit
        outside[region[part[protrudes]]] = True
    return outside


def _widths(support: _Support, number: int) -> np.ndarray:
    """Diagonal of the box around each region."""
    vertices, region = support.region_vertices()
    starts = np.flatnonzero(np.concatenate([[True], np.diff(region) > 0]))
    places = support.vertices[vertices]
    extent = np.maximum.reduceat(places, starts) - np.minimum.reduceat(places, starts)
    widths = np.zeros(number)
    widths[region[starts]] = np.linalg.norm(extent, axis=1)
    return widths


def _without_islands(mesh: Mesh, width: float) -> Mesh:
    """Without parts that are smaller than a few squared spacings; all of it if there would be nothing else."""
    if not len(mesh.faces):
        return mesh
    label = component_labels(mesh.faces, len(mesh.vertices))[mesh.faces[:, 0]]
    areas = np.bincount(label, mesh.face_areas)
    kept = (areas >= _ISLAND * width**2)[label]
    return mesh.keep(kept) if kept.any() and not kept.all() else mesh


def _diffused(mesh: Mesh, values: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Values (v,) diffused over lengths (v,) along the mesh: (M + L) x = M values, L the cotangent stiffness."""
    V, F, n, areas = mesh.vertices, mesh.faces, len(mesh.vertices), mesh.face_areas
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


def _typical_edge(vertices: np.ndarray, faces: np.ndarray) -> float:
    some = faces[:: max(len(faces) // _EDGES, 1)]
    ends = vertices[some[:, 0]] - vertices[some[:, 1]]
    return float(np.median(np.linalg.norm(ends, axis=1)))
