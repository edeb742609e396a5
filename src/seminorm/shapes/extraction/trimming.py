"""Parts of a mesh that data support: components with points of their own, and what lies near the points."""

import numpy as np
from scipy.spatial import cKDTree

from ..._base.threads import thread_count
from .marching import component_labels

SMOOTHING = 10  # steps over the mesh, of what decides where an open surface ends
_REACH = 2.0  # cells within which a data point belongs to a surface
_LARGE = 0.1  # of the largest component, in vertices: too large to be a bubble
_LOOKS = 2000  # vertices of a large component that are tried
_COVERED = 0.05  # share of them that must have data nearby
_CANDIDATES = 200_000  # data points that are assigned to small components
_OWN_POINTS = 30
_OWN_SHARE = 0.01  # of all points: enough where there are few, but not below
_OWN_FEWEST = 10
_BUBBLE_WIDTH = 8.0  # cells: what is smaller may be a bubble of noise,
_BUBBLE_CELLS = 15.0  # unless it has as many points as that many cells of the mesh have on average,
_LEAST_WIDTH = 3.0  # and is that many cells wide
_CHUNK = 2**20
_AROUND = np.stack(np.meshgrid(*[[-1, 0, 1]] * 3, indexing="ij"), axis=-1).reshape(-1, 3)


def components_with_data(
    labels: np.ndarray, vertices: np.ndarray, faces: np.ndarray, points: np.ndarray, cell: float
) -> np.ndarray:
    """Which components of a mesh (``labels`` from ``component_labels``) have points of their own, and are no bubbles.

    A large one does if data lie near a part of it; so does, in any case, the large one with most data (the largest may
    be a shell around everything, where the function changes its sign once more). A small one needs some 30 points that
    are nearer to it than to the rest of the mesh (1 % of all if there are fewer than 3000, 10 at least); if it is less
    than eight cells of the function wide, it needs in addition as many points as 15 cells have elsewhere.
    """
    sizes = np.bincount(labels)
    supported = np.ones(len(sizes), dtype=bool)
    if len(sizes) == 1:
        return supported
    reach = _REACH * cell
    large = sizes >= _LARGE * sizes.max()
    supported[:] = False
    if np.count_nonzero(large) == 1:
        supported[large] = True
    else:
        share = _covered_share(np.flatnonzero(large), labels, vertices, points, reach)
        supported[large] = (share >= _COVERED) | (share == share.max())
    widths = _widths(labels, vertices) / cell
    small = (sizes < _LARGE * sizes.max()) & (widths >= _LEAST_WIDTH)
    if small.any():
        own = _own_points(small, labels, vertices, points, reach)
        enough = np.clip(_OWN_SHARE * len(points), _OWN_FEWEST, _OWN_POINTS)
        points_per_cell = len(points) * cell**2 / _area(vertices, faces)
        solid = (widths >= _BUBBLE_WIDTH) | (own >= _BUBBLE_CELLS * points_per_cell)
        supported |= small & (own >= enough) & solid
    return supported


def trimmed_faces(vertices: np.ndarray, faces: np.ndarray, far: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Which faces have no vertices that are too far, or fill holes no wider than a length (v,) on average."""
    keep = ~far[faces].any(axis=1)
    cut = np.flatnonzero(~keep)
    if not len(cut) or len(cut) == len(faces):
        return keep
    used = np.unique(faces[cut])
    labels = component_labels(np.searchsorted(used, faces[cut]).astype(faces.dtype), len(used))
    at_border = np.zeros(len(vertices), dtype=bool)
    at_border[faces[keep]] = True
    touching = np.bincount(labels, at_border[used]) > 0
    narrow = _widths(labels, vertices[used]) <= np.bincount(labels, length[used]) / np.bincount(labels)
    keep[cut] = (touching & narrow)[labels[np.searchsorted(used, faces[cut, 0])]]
    return keep


def smoothed(values: np.ndarray, faces: np.ndarray, steps: int) -> np.ndarray:
    """Numbers of vertices, averaged over the faces around them, some steps far."""
    around = np.maximum(np.bincount(faces.ravel(), minlength=len(values)), 1)
    for _ in range(steps):
        of_faces = values[faces].mean(axis=1)
        values = np.bincount(faces.ravel(), np.repeat(of_faces, 3), minlength=len(values)) / around
    return values


def _covered_share(components, labels, vertices: np.ndarray, points: np.ndarray, reach: float) -> np.ndarray:
    """Of vertices evenly chosen from each component, the share with data nearby."""
    of_each = (np.flatnonzero(labels == component) for component in components)
    looks = [rows[:: max(len(rows) // _LOOKS, 1)] for rows in of_each]
    near = near_cells(vertices[np.concatenate(looks)], points, reach)
    return np.array([part.mean() for part in np.split(near, np.cumsum([len(rows) for rows in looks])[:-1])])


def _own_points(chosen, labels, vertices: np.ndarray, points: np.ndarray, reach: float) -> np.ndarray:
    """Number of data points within reach of each chosen component and nearer to it than to others."""
    candidates = points[near_cells(points, vertices[chosen[labels]], reach)]
    stride = -(-len(candidates) // _CANDIDATES) or 1
    candidates = candidates[::stride]
    rivals = np.flatnonzero(near_cells(vertices, candidates, reach))
    if not len(rivals):
        return np.zeros(len(chosen), dtype=np.int64)
    tree = cKDTree(vertices[rivals], balanced_tree=False, compact_nodes=False)
    distance, nearest = tree.query(candidates, distance_upper_bound=reach, workers=thread_count())
    return stride * np.bincount(labels[rivals[nearest[np.isfinite(distance)]]], minlength=len(chosen))


def near_cells(X: np.ndarray, others: np.ndarray, width: float) -> np.ndarray:
    """Which X lie in a cell of a grid that holds one of the others, or next to one: within one to two widths."""
    result = np.zeros(len(X), dtype=bool)
    if not len(others):
        return result
    low = others.min(axis=0) - 2 * width
    shape = np.floor((others.max(axis=0) - low) / width).astype(np.int64) + 3
    if float(shape[0]) * float(shape[1]) * float(shape[2]) >= 2**62:
        raise ValueError(f"cells of width {width:g} are too many to number over {shape * width}: mesh more coarsely.")
    weights = np.array([shape[1] * shape[2], shape[2], 1])
    chunks = (others[begin : begin + _CHUNK] for begin in range(0, len(others), _CHUNK))
    keys_of = [np.unique(np.floor((chunk - low) / width).astype(np.int64) @ weights) for chunk in chunks]
    occupied = np.unique(np.concatenate(keys_of))
    surrounded = np.unique((occupied[:, None] + _AROUND @ weights).ravel())
    for begin in range(0, len(X), _CHUNK):
        place = np.floor((X[begin : begin + _CHUNK] - low) / width)
        inside = ((place >= 0) & (place < shape)).all(axis=1)
        keys = np.where(inside[:, None], place, 0).astype(np.int64) @ weights
        found = surrounded[np.minimum(np.searchsorted(surrounded, keys), len(surrounded) - 1)]
        result[begin : begin + _CHUNK] = inside & (found == keys)
    return result


def _widths(labels: np.ndarray, vertices: np.ndarray) -> np.ndarray:
    """Longest side of the box around each component."""
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(labels.max() + 1))
    ordered = vertices[order]
    return (np.maximum.reduceat(ordered, starts) - np.minimum.reduceat(ordered, starts)).max(axis=1)


def _area(vertices: np.ndarray, faces: np.ndarray) -> float:
    total = 0.0
    for begin in range(0, len(faces), _CHUNK):
        a, b, c = (vertices[faces[begin : begin + _CHUNK, corner]] for corner in range(3))
        total += 0.5 * float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum())
    return total
