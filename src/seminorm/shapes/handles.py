"""Handles that nothing supports: short loops of a mesh are found, cut, and closed on both sides.

A tree of shortest paths and a tree of faces that crosses none of its edges leave two edges per handle. Each closes a
loop that bounds no part of the mesh [Erickson and Whittlesey 2005], and the tree of faces takes edges with long loops
first, so that short loops are left. Lengths count as far as the mesh is supported: a loop around a bridge between two
sheets, or around a hole torn into one, has next to no supported length.
"""

from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra, minimum_spanning_tree

from .extraction.marching import component_labels
from .mesh import Mesh

_UNSUPPORTED = 0.02  # share of its length with which an edge without support counts
_ROUNDS = 6
_RELAXED = 10  # rounds of averaging around a cut


def without_handles(mesh: Mesh, support: Callable[[np.ndarray, np.ndarray], np.ndarray], longest: float) -> Mesh:
    """The mesh without handles whose loops have less supported length than ``longest``.

    ``support`` takes vertices and their normals and tells how well data support each, in [0, 1]. Vertices near a cut
    move; all others stay as they are.
    """
    for _ in range(_ROUNDS):
        if not len(mesh.faces) or mesh.euler_characteristic == 2 * mesh.components()[1]:
            break
        normals = mesh.vertex_normals() if mesh.normals is None else mesh.normals
        loops = _short_loops(mesh, np.clip(support(mesh.vertices, normals), 0.0, 1.0), longest)
        if not loops:
            break
        mesh = _cut(mesh, loops)
    return mesh


def _edges(faces: np.ndarray) -> np.ndarray:
    """Ends (3 f, 2) of the edges of faces, the lower one first."""
    return np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)


def _short_loops(mesh: Mesh, support: np.ndarray, longest: float) -> list[np.ndarray]:
    """Vertices of loops of which no two share a vertex, shortest first."""
    V, F, n = mesh.vertices, mesh.faces, len(mesh.vertices)
    ends = _edges(F).astype(np.int64)
    keys, of_corner = np.unique(ends[:, 0] * n + ends[:, 1], return_inverse=True)
    a, b = keys // n, keys % n
    length = np.linalg.norm(V[a] - V[b], axis=1) + 1e-12 * np.ptp(V)
    length *= _UNSUPPORTED + (1.0 - _UNSUPPORTED) * 0.5 * (support[a] + support[b])
    roots = np.unique(component_labels(F, n)[F[:, 0]], return_index=True)[1]
    graph = sparse.coo_array((length, (a, b)), shape=(n, n)).tocsr()
    distance, before, _ = dijkstra(graph, directed=False, indices=F[roots, 0], return_predecessors=True, min_only=True)
    in_tree = (before[a] == b) | (before[b] == a)
    top = _meeting(np.where(before < 0, np.arange(n), before), a, b)
    around = distance[a] + distance[b] - 2.0 * distance[top] + length
    left = np.flatnonzero(~in_tree & ~_crossed(of_corner, around, in_tree))
    left = left[(around[left] < longest) & np.isfinite(around[left])]
    taken = np.zeros(n, dtype=bool)
    loops = []
    for edge in left[np.argsort(around[left], kind="stable")]:
        loop = np.concatenate([_path(before, a[edge], top[edge]), _path(before, b[edge], top[edge])[-2::-1]])
        if len(loop) >= 3 and not taken[loop].any():
            taken[loop] = True
            loops.append(loop)
    return loops


def _crossed(of_corner: np.ndarray, around: np.ndarray, in_tree: np.ndarray) -> np.ndarray:
    """Which edges a spanning tree of the faces crosses, that with the longest loops; all borders are one more face."""
    face = np.arange(len(of_corner)) // 3
    order = np.argsort(of_corner, kind="stable")
    count = np.bincount(of_corner, minlength=len(around))
    first = np.concatenate([[0], np.cumsum(count)[:-1]])
    outside = len(of_corner) // 3
    one = face[order[first]]
    other = np.where(count > 1, face[order[np.minimum(first + 1, len(order) - 1)]], outside)
    allowed = np.flatnonzero(~in_tree & (count <= 2))
    allowed = allowed[np.argsort(-around[allowed], kind="stable")]  # of edges between two faces the longest loop first
    pair = np.minimum(one, other) * (outside + 1) + np.maximum(one, other)
    allowed = allowed[np.sort(np.unique(pair[allowed], return_index=True)[1])]
    finite = np.where(np.isfinite(around), around, 0.0)
    weight = 2.0 * finite.max() + 1.0 - finite[allowed]
    shape = (outside + 1, outside + 1)
    low, high = np.minimum(one, other)[allowed], np.maximum(one, other)[allowed]
    tree = minimum_spanning_tree(sparse.coo_array((weight, (low, high)), shape=shape).tocsr()).tocoo()
    crossed = np.zeros(len(around), dtype=bool)
    crossed[allowed[np.isin(pair[allowed], tree.row.astype(np.int64) * (outside + 1) + tree.col)]] = True
    return crossed


def _meeting(up: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The first common vertex (m,) of the ways from a and b to the root; ``up`` is the next vertex on the way."""
    jumps, depth = [up], (up != np.arange(len(up))).astype(np.int64)
    while True:
        further = jumps[-1][jumps[-1]]
        depth = depth + depth[jumps[-1]]
        if np.array_equal(further, jumps[-1]):
            break
        jumps.append(further)
    low, high = np.where(depth[a] > depth[b], a, b), np.where(depth[a] > depth[b], b, a)
    rest = depth[low] - depth[high]
    for k, jump in enumerate(jumps):
        low = np.where(rest >> k & 1, jump[low], low)
    for jump in reversed(jumps):
        apart = jump[low] != jump[high]
        low, high = np.where(apart, jump[low], low), np.where(apart, jump[high], high)
    return np.where(low == high, low, up[low])


def _path(before: np.ndarray, start: int, end: int) -> np.ndarray:
    path = [start]
    while path[-1] != end:
        path.append(before[path[-1]])
    return np.array(path)


def _cut(mesh: Mesh, loops: list[np.ndarray]) -> Mesh:
    """The mesh cut along loops, each side closed by triangles around a new vertex and relaxed."""
    faces, vertices = mesh.faces.copy(), [mesh.vertices]
    n, count = len(mesh.vertices), len(mesh.vertices)
    touching = _faces_around(mesh.faces, np.concatenate(loops), n)
    caps, moved = [], []
    for loop in loops:
        left = _left_of(mesh.faces, touching, loop)
        if left is None:
            continue
        copies = count + np.arange(len(loop))
        number = dict(zip(loop.tolist(), copies.tolist(), strict=True))
        for face in left:
            faces[face] = [number.get(int(v), int(v)) for v in faces[face]]
        places = mesh.vertices[loop]
        middles = count + len(loop), count + len(loop) + 1
        vertices += [places, places.mean(axis=0, keepdims=True), places.mean(axis=0, keepdims=True)]
        following = np.roll(np.arange(len(loop)), -1)
        caps.append(np.stack([loop, loop[following], np.full(len(loop), middles[0])], axis=1))
        caps.append(np.stack([copies[following], copies, np.full(len(loop), middles[1])], axis=1))
        moved += [loop, copies, np.array(middles)]
        count += len(loop) + 2
    if not caps:
        return mesh
    F = np.concatenate([faces, *caps]).astype(mesh.faces.dtype)
    return _relaxed(np.concatenate(vertices), F, np.concatenate(moved), mesh.normals)


def _faces_around(faces: np.ndarray, vertices: np.ndarray, n: int) -> dict[int, list[int]]:
    wanted = np.zeros(n, dtype=bool)
    wanted[vertices] = True
    around: dict[int, list[int]] = {int(v): [] for v in vertices}
    for face in np.flatnonzero(wanted[faces].any(axis=1)):
        for v in faces[face]:
            if wanted[v]:
                around[int(v)].append(int(face))
    return around


def _left_of(faces: np.ndarray, touching: dict[int, list[int]], loop: np.ndarray) -> list[int] | None:
    """Faces to the left of a loop that share a vertex with it; None if the loop does not divide those around it."""
    size = len(loop)
    left: set[int] = set()
    right: set[int] = set()
    for k, v in enumerate(loop.tolist()):
        previous, following = int(loop[k - 1]), int(loop[(k + 1) % size])
        step = {}  # around v, counterclockwise: the face that begins with each neighbour, and where it ends
        for face in touching[v]:
            corner = faces[face].tolist()
            at = corner.index(v)
            step[corner[(at + 1) % 3]] = face, corner[(at + 2) % 3]
        for side, start, end in ((left, following, previous), (right, previous, following)):
            at = start
            while at != end:
                if at not in step or len(side) > len(faces):
                    return None  # a border
                face, at = step.pop(at)
                side.add(face)
    return None if left & right else sorted(left)


def _relaxed(vertices: np.ndarray, faces: np.ndarray, moved: np.ndarray, normals: np.ndarray | None) -> Mesh:
    """Vertices at cuts, and those next to them, go to the mean of their neighbours, some times."""
    free = np.zeros(len(vertices), dtype=bool)
    free[moved] = True
    free[faces[free[faces].any(axis=1)]] = True
    near = faces[free[faces].any(axis=1)]
    ends = np.unique(_edges(near), axis=0)  # few
    ends = np.concatenate([ends, ends[:, ::-1]])
    ends = ends[free[ends[:, 0]]]
    count = np.maximum(np.bincount(ends[:, 0], minlength=len(vertices)), 1)[:, None]
    for _ in range(_RELAXED):
        total = np.stack([np.bincount(ends[:, 0], vertices[ends[:, 1], k], len(vertices)) for k in range(3)], axis=1)
        vertices = np.where(free[:, None], total / count, vertices)
    mesh = Mesh(vertices, faces)
    if normals is None:
        return mesh
    new = mesh.vertex_normals()
    kept = np.flatnonzero(~free[: len(normals)])
    new[kept] = normals[kept]
    return Mesh(vertices, faces, new)
