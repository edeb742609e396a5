"""Normals that neighbours leave in doubt, decided by the smoothest function that has the other normals.

Where a finger is thinner than the points are apart the neighbours of a point lie on all of its sides, and clusters of
normals may look inwards. The energy n' Q n (:mod:`.gradient_energy`) of the points around a cluster, with the sure
normals fixed, has a linear part in the doubtful ones, which decides their signs: nearly all descents end in the same
minimum.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from ...._base.threads import thread_count
from ....solvers.unit_blocks import descend, energy, unit_blocks
from .gradient_energy import DegenerateTrendError, GradientCovariance

_DOUBT = 0.2  # confidence, below which a normal is free
_JOINED = 8  # neighbours of which those in doubt make a cluster
_WINDOW, _AROUND = 120, 3  # points that take part: so many, or that many times the cluster
_LARGEST, _FREE = 500, 0.7  # of them, and the share that may be in doubt
_MOST = 100  # clusters, the largest first
_LENGTH = (0.05, 0.3)  # alpha**(1/3) over the distance of points, of exact and of noisy ones


def settled(X: np.ndarray, normals: np.ndarray, confidence: np.ndarray, noisy: bool) -> np.ndarray:
    """Unit normals (n, 3) of points X (n, 3), those of low confidence (n,) replaced by those that make the function
    through the points around them smoothest."""
    found, tree, doubtful = normals.copy(), cKDTree(X), confidence < _DOUBT
    for cluster in _clusters(X, tree, doubtful):
        count = min(max(_WINDOW, _AROUND * len(cluster)), len(X))
        if count > _LARGEST:
            continue
        rows = _window(X, tree, cluster, count)
        free = doubtful[rows]
        if free.mean() > _FREE:
            continue
        try:
            better = _smoothest(X[rows], found[rows], free, _LENGTH[noisy])
        except DegenerateTrendError:
            continue
        found[cluster] = better[np.isin(rows[free], cluster)]
    return found


def _clusters(X: np.ndarray, tree: cKDTree, doubtful: np.ndarray) -> list[np.ndarray]:
    """Rows of points in doubt that are neighbours of each other, sorted, the largest clusters first."""
    rows = np.flatnonzero(doubtful)
    near = tree.query(X[rows], k=min(_JOINED + 1, len(X)), workers=thread_count())[1][:, 1:]
    one, other = np.repeat(rows, near.shape[1]), near.ravel()
    both = doubtful[other]
    graph = coo_array((np.ones(both.sum()), (one[both], other[both])), shape=(len(X), len(X)))
    label = connected_components(graph, directed=False)[1][rows]
    order = np.argsort(label, kind="stable")
    clusters = np.split(rows[order], np.flatnonzero(np.diff(label[order])) + 1)
    return sorted(clusters, key=len, reverse=True)[:_MOST] if len(rows) else []


def _window(X: np.ndarray, tree: cKDTree, cluster: np.ndarray, count: int) -> np.ndarray:
    """Rows of so many points, those nearest to a cluster, sorted."""
    some = np.unique(tree.query(X[cluster], k=min(count, len(X)))[1])
    away = cKDTree(X[cluster]).query(X[some])[0]
    return np.sort(some[np.argsort(away, kind="stable")[:count]])


def _smoothest(X: np.ndarray, normals: np.ndarray, free: np.ndarray, length: float) -> np.ndarray:
    """The free normals that make the function smoothest, the others fixed."""
    spacing = float(np.median(cKDTree(X).query(X, k=2)[0][:, 1]))
    Q = GradientCovariance(X - X.mean(axis=0)).energy((length * spacing) ** 3).Q
    loose = np.repeat(free, 3)
    part = np.ascontiguousarray(Q[np.ix_(loose, loose)])
    linear = (Q[np.ix_(loose, ~loose)] @ normals[~free].ravel()).reshape(-1, 3)
    unconstrained = unit_blocks(-np.linalg.solve(part, linear.ravel()).reshape(-1, 3))
    found = [descend(part, start, linear) for start in (normals[free], unconstrained)]
    return min(found, key=lambda one: energy(part, one, linear))
