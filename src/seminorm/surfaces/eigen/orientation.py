"""Outward signs for normals, from all points at once, as an eigenvector [Walder 2008, 4.4].

Given are normals n_i of unknown signs s_i. Of all f with

    M(f) = sum_i a_i (f(x_i)^2 / h^2 + |grad f(x_i)|^2) + lambda |f|^2 = 1

the one that follows the signed normals best has sum_i a_i s_i n_i . grad f(x_i) = (s' K s)^(1/2), with K = B' M^-1 B
for the functionals B of the sum. The leading eigenvector of K would be the signs, but for its focusing. So s is held
fixed, up to one sign, on each of some hundred small patches: on these K is a small matrix, and the relaxed signs of its
leading eigenvectors are rounded and improved by flips.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree

from ...solvers.linear.conjugate_gradients import conjugate_gradients
from .method import Forms, approximate_inverse, cells_for, check_points, edge_mean, some_rows

_PATCHES = 256
_PATCH_POINTS = 6  # on average, at least
_SMOOTHNESS, _TOLERANCE = 0.003, 0.01  # lambda and h
_NEIGHBORS = 10
_EDGE_COST = 0.02
_VECTORS, _RESTARTS, _FINALISTS = 8, 200, 8
_RESOLVED = 1.5  # spacing of the points in cells, from which on the grid resolves single points
_ROUNDS = 20
_FIT_TOL, _FIT_STEPS = 1e-3, 100
_WEAK = 1e-12


def orient_by_eigenvector(
    points: ArrayLike, normals: ArrayLike, *, cells: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Signs that turn unsigned normals outwards, found from all points at once.

    Parameters
    ----------
    points, normals : arrays (n, d)
        d = 2 or 3.
    cells : int, optional
        Of the grid, along the longest side of the data.

    Returns
    -------
    signs : array (n,), -1 or 1
    confidence : array (n,)
        In [0, 1]: how long the gradient of the fitted function is along the signed normal, 0 if it disagrees. Details
        much finer than the grid get little.

    See Also
    --------
    seminorm.clouds.estimate_normals : Normals of points, oriented from neighbour to neighbour.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.surfaces.eigen import orient_by_eigenvector
    >>> angle = np.linspace(0.0, 2 * np.pi, 80, endpoint=False)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> given = circle * np.where(np.arange(80) % 3, 1.0, -1.0)[:, None]  # a third of the normals looks inwards
    >>> bool((np.sum(circle * orient_by_eigenvector(circle, given)[0][:, None] * given, axis=1) > 0).all())
    True
    """
    points = check_points(points)
    normals = _check_normals(normals, points)
    rows = some_rows(len(points))
    signs, slopes = _oriented(points[rows], normals[rows], cells_for(points, cells))
    if len(rows) < len(points):
        nearest = cKDTree(points[rows]).query(points)[1]
        agree = np.einsum("ij,ij->i", normals, normals[rows][nearest])
        signs, slopes = signs[nearest] * np.where(agree < 0, -1.0, 1.0), slopes[nearest] * np.abs(agree)
    return signs, np.clip(slopes, 0.0, 1.0)


def _oriented(points: np.ndarray, normals: np.ndarray, cells: int) -> tuple[np.ndarray, np.ndarray]:
    forms = Forms.of(points, cells)
    basis, area = forms.basis, forms.area
    parts = zip(normals.T, forms.gradients, strict=True)
    along = sparse.csr_array(sum(sparse.diags_array(column) @ gradient for column, gradient in parts))
    matrix = sparse.csr_array(forms.data / _TOLERANCE**2 + forms.slopes + _SMOOTHNESS * basis.energy(2))
    inverse = approximate_inverse(basis, matrix)
    patch, signs = patches(points, normals, max(min(_PATCHES, len(points) // _PATCH_POINTS), 1))
    members = sparse.csr_array((area * signs, (np.arange(len(points)), patch)))
    functionals = (along.T @ members).toarray()
    coupling = functionals.T @ inverse(functionals)
    signs = signs * best_signs((coupling + coupling.T) / 2)[patch]
    spacing = np.median(area) ** (1.0 / (points.shape[1] - 1))
    coef = np.zeros(basis.size)
    for _ in range(_ROUNDS):
        right = along.T @ (area * signs)
        conjugate_gradients(lambda v: matrix @ v, inverse, right, coef, tol=_FIT_TOL, max_iter=_FIT_STEPS)
        slopes = along @ coef
        wrong = slopes * signs < 0
        if not wrong.any() or spacing < _RESOLVED * basis.box.spacing:
            break
        signs = np.where(wrong, -signs, signs)
    outwards = 1.0 if edge_mean(basis, coef) >= 0 else -1.0
    return outwards * signs, signs * slopes


def patches(points: np.ndarray, normals: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The points divided into patches around far apart ones, and signs that make normals agree within each: a point
    belongs to the patch that reaches it most easily, from neighbour to neighbour, where normals are alike and across
    them. Parts without a seed of their own make patches too.
    """
    n = len(points)
    distance, near = cKDTree(points).query(points, k=min(_NEIGHBORS + 1, n))
    one, other = np.repeat(np.arange(n), near.shape[1] - 1), near[:, 1:].ravel()
    steps = (points[other] - points[one]) / np.maximum(distance[:, 1:].ravel(), np.finfo(float).tiny)[:, None]
    turn = 1.0 - np.abs(np.einsum("ij,ij->i", normals[one], normals[other]))
    lift = np.maximum(*(np.einsum("ij,ij->i", steps, normals[end]) ** 2 for end in (one, other)))
    cost = sparse.csr_array((turn + lift + _EDGE_COST, (one, other)), shape=(n, n))
    cost = cost.maximum(cost.T)
    parts = sparse.csgraph.connected_components(cost, directed=False)[1]
    seeds = np.union1d(_far_apart(points, count), np.unique(parts, return_index=True)[1])
    far, before, _ = dijkstra(cost, directed=False, indices=seeds, return_predecessors=True, min_only=True)
    patch, signs = np.empty(n, dtype=np.int64), np.ones(n)
    patch[seeds] = np.arange(len(seeds))
    agree = np.where(np.einsum("ij,ij->i", normals, normals[np.maximum(before, 0)]) < 0, -1.0, 1.0)
    for point in np.argsort(far, kind="stable"):
        parent = before[point]
        if parent >= 0:
            patch[point], signs[point] = patch[parent], signs[parent] * agree[point]
    return patch, signs


def best_signs(coupling: np.ndarray) -> np.ndarray:
    """Signs s with a large s' coupling s, from merged pairs and mixtures of leading eigenvectors; improved by flips."""
    scale = np.sqrt(np.maximum(np.diag(coupling), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(coupling / scale / scale[:, None])
    values, vectors = values[::-1][:_VECTORS], vectors[:, ::-1][:, :_VECTORS]
    mixtures = np.random.default_rng(0).standard_normal((_RESTARTS, len(values))) * np.maximum(values, 0.0)
    merged, clusters = _merged(coupling)
    pairs = coupling - np.diag(np.diag(coupling))
    starts = np.concatenate([merged[None], vectors.T, mixtures @ vectors.T])
    found = np.unique([_flipped(pairs, np.where(start < 0, -1.0, 1.0)) for start in starts], axis=0)
    best = found[np.argsort(np.einsum("si,ij,sj->s", found, pairs, found, optimize=True))[-_FINALISTS:]]
    final = [_flipped_by_clusters(pairs, signs, clusters) for signs in best]
    return final[int(np.argmax([signs @ pairs @ signs for signs in final]))]


def _flipped(pairs: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Signs after single flips, the best one first, as long as one helps."""
    force, least = pairs @ signs, _WEAK * np.abs(pairs).max()
    while True:
        gain = -signs * force
        worst = int(np.argmax(gain))
        if gain[worst] <= least:
            return signs
        signs[worst] *= -1.0
        force += 2.0 * signs[worst] * pairs[:, worst]


def _flipped_by_clusters(pairs: np.ndarray, signs: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    least = _WEAK * np.abs(pairs).max()
    while len(clusters):
        turned = signs[:, None] * pairs * signs
        within = np.einsum("ci,ci->c", clusters @ turned, clusters)
        gain = within - clusters @ turned.sum(axis=1)
        worst = int(np.argmax(gain))
        if gain[worst] <= least:
            break
        signs = _flipped(pairs, np.where(clusters[worst] > 0, -signs, signs))
    return signs


def _merged(coupling: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Signs from merging the two most clearly coupled clusters again and again; and the clusters, (count, n)."""
    n = len(coupling)
    signs, members, sums = np.ones(n), np.eye(n), coupling.copy()
    alive, clusters = np.ones(n, dtype=bool), []
    for _ in range(n - 1):
        scale = np.sqrt(np.maximum(np.diag(sums), np.finfo(float).tiny))
        strength = np.abs(sums) / scale / scale[:, None]
        strength[~alive] = strength[:, ~alive] = -1.0
        np.fill_diagonal(strength, -1.0)
        one, other = np.unravel_index(int(np.argmax(strength)), strength.shape)
        turn = -1.0 if sums[one, other] < 0 else 1.0
        signs[members[other] > 0] *= turn
        sums[one] += turn * sums[other]
        sums[:, one] += turn * sums[:, other]
        members[one] += members[other]
        alive[other] = False
        clusters.append(members[one].copy())
    return signs, np.array(clusters[:-1]).reshape(-1, n)


def _far_apart(points: np.ndarray, count: int) -> np.ndarray:
    """Points of which each is as far as possible from those before it."""
    chosen = [0]
    distance = np.linalg.norm(points - points[0], axis=1)
    for _ in range(count - 1):
        chosen.append(int(distance.argmax()))
        distance = np.minimum(distance, np.linalg.norm(points - points[chosen[-1]], axis=1))
    return np.unique(chosen)


def _check_normals(normals: ArrayLike, points: np.ndarray) -> np.ndarray:
    normals = np.asarray(normals, dtype=float)
    if normals.shape != points.shape:
        raise ValueError(f"normals must have the shape of points, {points.shape}, got {normals.shape}.")
    lengths = np.linalg.norm(normals, axis=1)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise ValueError("normals must be finite and not zero: leave out the points that have none.")
    return normals / lengths[:, None]
