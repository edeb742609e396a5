"""Cutting a mesh along the line where numbers at its vertices vanish."""

import numpy as np

from .mesh import Mesh

_SNAP = 0.05  # of an edge: crossings so near to its end are moved onto it


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
