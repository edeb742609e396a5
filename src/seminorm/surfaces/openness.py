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

from ..shapes.attributes import Neighborhood, distance_and_spacing
from ..shapes.clipping import clipped
from ..shapes.extraction.marching import component_labels
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
_CG_TOL, _CG_STEPS = 1e-3, 200


def looks_closed(mesh: Mesh, data: Neighborhood) -> bool:
    """Whether a first look at places all over the mesh finds none far from the data."""
    total = np.cumsum(mesh.face_areas)
    steps = (np.arange(_LOOKS) + 0.5) / _LOOKS * total[-1]
    rows = np.minimum(np.searchsorted(total, steps), len(total) - 1)
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
    part = Mesh(V[used], places.reshape(near.shape))
    signal[used] = _diffused(part, np.minimum(signal[used], _FAR), width[used])
    far = np.flatnonzero(signal[F].mean(axis=1) > _LEVEL)
    region = np.full(len(F), -1)
    used, places = np.unique(F[far], return_inverse=True)
    region[far] = component_labels(places.reshape(-1, 3), len(used))[places.reshape(-1, 3)[:, 0]]
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


def _typical_edge(mesh: Mesh) -> float:
    ends = mesh.vertices[mesh.faces[:, 0]] - mesh.vertices[mesh.faces[:, 1]]
    return float(np.median(np.linalg.norm(ends, axis=1)))
