"""Signs of normals: consistent from neighbour to neighbour, and outwards.

Two kinds of evidence are weighed. Edges between neighbours say whether two normals agree (``edge_agreement``): strong
where the surface is well sampled, misleading where it is thin or noisy. And a pull on each point says to which side its
normal should look: from the position of the sensor, from the order of scan lines, or from ``winding_directions``, which
needs nothing but the points and sees the shape as a whole.

The signs s maximise sum J_ij s_i s_j + 2 sum b_i s_i, with agreement J and pull b, by clusters: every cluster joins the
neighbour with which it agrees or disagrees most clearly, until no edges are left; on the way back, from large clusters
to points, each is flipped if that is better.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree

from ... import _native
from ..._base.threads import thread_count
from ...solvers.linear.conjugate_gradients import conjugate_gradients
from ..preparation import thin_rows
from .local_fits import LocalFits, Neighborhoods

_EDGES = 12  # neighbours of a point in the graph
_EDGES_OF_MANY = 8
_MANY = 300_000
_CHUNK = 2**16
_SWEEPS = 20
_LEAST_FLAT = 0.05  # weight of edges that run along the normals
_LEAF = 8  # points in a leaf of the tree
_OPENING = 0.6  # nodes are summed as one from distances beyond their radius over this
_MOST_SOURCES = 24_000  # points that decide the winding directions
_DAMPING = (2.0, 4.0)  # factor on the diagonal, without and with noise
_STEPS, _RESIDUAL = 12, 0.05  # of conjugate gradients
_DECIDED = 0.5  # mean pull, along the normals, of parts that have an inside
_SPARSE, _DOUBTFUL = 2.0, 0.1  # spacing over the median, and confidence, of outlying points
GENTLE = 0.1  # pull of a winding direction along the normal, in edges
FIRM = 20.0  # pull of a sensor that looks straight at the surface, in edges


def orient(
    hood: Neighborhoods,
    fits: LocalFits,
    *,
    towards: np.ndarray | None = None,
    handed: np.ndarray | None = None,
    report: Callable[[int], object] = lambda count: None,
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Normals (n, 3) with consistent signs, fitted once more to neighbours on the same side of the surface.

    ``towards`` (n, 3) are unit vectors from the points to their sensors, NaN where these are not known; ``handed``
    (n, 3) all look outwards or all inwards, roughly. Returned besides: the confidence (n,), less than that of the fits
    where the sign is in doubt, and whether at least half of the points know outside from inside; if not, the others
    look towards larger z.
    """
    decided = True
    strength: float | np.ndarray = FIRM
    seen = np.isfinite(towards).all(axis=1) if towards is not None else np.zeros(len(hood.points), dtype=bool)
    if towards is not None and seen.all():
        guide = towards
    else:
        places = fits.feet if hood.noisy else hood.points
        outlying = (fits.spacing > _SPARSE * np.median(fits.spacing)) & (fits.confidence < _DOUBTFUL)
        guide = winding_directions(places, fits.spacing, outlying, hood.noisy)
        strength = GENTLE
        if handed is not None:
            sign, decided = _handedness(guide, handed)
            guide, strength = sign * handed, FIRM
        elif towards is not None:
            guide, strength = np.where(seen[:, None], towards, guide), np.where(seen, FIRM, GENTLE)
    gently = np.asarray(strength == GENTLE)
    signs, *_ = signs_of(hood.points, fits, strength * _dots(guide, fits.normals))
    sides = _unit(signs[:, None] * fits.normals + np.where(gently[..., None], guide, 0.0))
    fits = hood.fit(sides, report)
    pull = _dots(guide, fits.normals)
    signs, part, certainty = signs_of(hood.points, fits, strength * pull)
    if gently.any():
        decided = settle_parts(signs, part, pull, fits.normals, seen)
    return signs[:, None] * fits.normals, fits.confidence * certainty, decided


def signs_of(points: np.ndarray, fits: LocalFits, pull: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    graph = neighbor_graph(points, fits.normals, fits.confidence)
    signs, part = consistent_signs(graph, pull)
    agreement = graph.agreement * signs[graph.low] * signs[graph.high]
    force, total = signs * pull, np.abs(pull)
    for ends in (graph.low, graph.high):
        force += np.bincount(ends, agreement, minlength=graph.n)
        total += np.bincount(ends, graph.total, minlength=graph.n)
    return signs, part, np.clip(0.5 + 0.5 * force / np.maximum(total, 1e-300), 0.0, 1.0)


def _handedness(guide: np.ndarray, handed: np.ndarray) -> tuple[float, bool]:
    agreement = float(_dots(guide, handed).mean())
    if abs(agreement) >= _DECIDED:
        return float(np.sign(agreement)), True
    return upward(handed.sum(axis=0)), False


def settle_parts(signs: np.ndarray, part: np.ndarray, pull: np.ndarray, normals: np.ndarray, seen: np.ndarray) -> bool:
    """Whether half of the points are in parts that know their outside, or that a sensor has seen; if not, the others
    are turned up, in place."""
    sizes = np.bincount(part)
    decided = (np.bincount(part, signs * pull) >= _DECIDED * sizes) | (np.bincount(part, seen) > 0)
    if 2 * sizes[decided].sum() >= len(part):
        return True
    sums = np.stack([np.bincount(part, signs * column) for column in normals.T], axis=1)
    turn = np.array([1.0 if known else upward(total) for known, total in zip(decided, sums, strict=True)])
    signs *= turn[part]
    return False


def upward(total: np.ndarray) -> float:
    """The sign with which a vector looks towards larger z (y or x, if it is horizontal)."""
    for value in total[::-1]:
        if abs(value) > 1e-3 * np.abs(total).max():
            return float(np.sign(value))
    return 1.0


def line_directions(points: np.ndarray, lines: np.ndarray) -> np.ndarray:
    """Unit vectors (n, 3) across lines of points: all towards the sensor, or all away from it.

    A line's points run in the order of the rows, and lines in the order of their numbers. Seen from the sensor,
    the step along a line and the step to the next line always turn the same way, so their cross product shows the side;
    it is zero where a point has no neighbours in other lines.
    """
    n = len(points)
    order = np.argsort(lines, kind="stable")
    ahead, behind = order.copy(), order.copy()
    same = lines[order[1:]] == lines[order[:-1]]
    ahead[:-1][same], behind[1:][same] = order[1:][same], order[:-1][same]
    along = np.empty((n, 3))
    along[order] = points[ahead] - points[behind]
    across = np.zeros((n, 3))
    tree, k = cKDTree(points), min(4 * _EDGES, n)
    for first in range(0, n, _CHUNK):
        rows = tree.indices[first : first + _CHUNK]
        near = tree.query(points[rows], k=k, workers=thread_count())[1].reshape(len(rows), k)
        step = np.sign(lines[near] - lines[rows, None])
        across[rows] = ((points[near] - points[rows, None]) * step[:, :, None]).sum(axis=1)
    return _unit(np.cross(along, across))


def _dots(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", a, b)


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors of length 1; those of length 0 stay."""
    return np.ascontiguousarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300))


@dataclass(frozen=True)
class Graph:
    """Edges between clusters, each once, with the sum of the agreements they hold and of their absolute values."""

    n: int
    low: np.ndarray
    high: np.ndarray
    agreement: np.ndarray
    total: np.ndarray

    def matrix(self) -> sparse.csr_array:
        """The agreements as a symmetric matrix."""
        rows, columns = np.concatenate([self.low, self.high]), np.concatenate([self.high, self.low])
        return sparse.coo_array((np.tile(self.agreement, 2), (rows, columns)), shape=(self.n, self.n)).tocsr()

    def joined(self) -> tuple[np.ndarray, np.ndarray]:
        """Let each cluster join its clearest neighbour: the new cluster of each, and its sign in there."""
        clear = self.agreement**2 / np.maximum(self.total, 1e-300)
        useful = np.flatnonzero(clear > 0)
        clear, low, high = clear[useful], self.low[useful], self.high[useful]
        order = np.argsort(clear, kind="stable")
        chosen = np.full(self.n, -1)
        both = np.column_stack([low[order], high[order]]).ravel()
        chosen[both] = np.repeat(order, 2)  # of repeated entries the last, the clearest edge, stays
        root, sign = np.arange(self.n), np.ones(self.n)
        joins = np.flatnonzero(chosen >= 0)
        edge = chosen[joins]
        root[joins] = low[edge] + high[edge] - joins
        sign[joins] = np.sign(self.agreement[useful][edge])
        mutual = joins[(root[root[joins]] == joins) & (joins < root[joins])]
        root[mutual], sign[mutual] = mutual, 1.0
        while (root[root] != root).any():
            sign, root = sign * sign[root], root[root]
        return np.unique(root, return_inverse=True)[1], sign

    def merged(self, cluster: np.ndarray, sign: np.ndarray) -> "Graph":
        """The graph of the new clusters."""
        n = int(cluster.max()) + 1
        low, high = cluster[self.low], cluster[self.high]
        between = low != high
        agreement = (self.agreement * sign[self.low] * sign[self.high])[between]
        low, high = np.minimum(low, high)[between], np.maximum(low, high)[between]
        sums = sparse.coo_array((agreement, (low, high)), shape=(n, n)).tocsr()
        totals = sparse.coo_array((self.total[between], (low, high)), shape=(n, n)).tocsr()
        return Graph(n, np.repeat(np.arange(n), np.diff(sums.indptr)), sums.indices, sums.data, totals.data)


def neighbor_graph(points: np.ndarray, normals: np.ndarray, trust: np.ndarray) -> Graph:
    """Edges of the nearest neighbours, with the agreement of their normals."""
    n = len(points)
    k = min((_EDGES if n <= _MANY else _EDGES_OF_MANY) + 1, n)
    tree = cKDTree(points)
    near = np.empty((n, k - 1), dtype=np.int32)
    order = tree.indices
    for first in range(0, n, _CHUNK):
        rows = order[first : first + _CHUNK]
        near[rows] = tree.query(points[rows], k=k, workers=thread_count())[1][:, 1:]
    agreement = np.empty(near.shape)
    _native.edge_agreement(points, normals, trust, near, _LEAST_FLAT, agreement)
    start = np.repeat(np.arange(n, dtype=np.int32), k - 1)
    low, high = np.minimum(start, near.ravel()), np.maximum(start, near.ravel())
    edges = sparse.coo_array((agreement.ravel(), (low, high)), shape=(n, n)).tocsr()
    count = sparse.coo_array((np.ones(len(low)), (low, high)), shape=(n, n)).tocsr()
    agreement = edges.data / count.data
    low, high = np.repeat(np.arange(n), np.diff(edges.indptr)), edges.indices
    kept = low != high
    return Graph(n, low[kept], high[kept], agreement[kept], np.abs(agreement[kept]))


def consistent_signs(graph: Graph, pull: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Signs that agree along the edges and with the pull, and the connected part of each point."""
    levels, pulls, graphs = [], [pull], [graph]
    part = np.arange(graph.n)
    while len(graphs[-1].low):
        cluster, sign = graphs[-1].joined()
        if int(cluster.max()) + 1 == graphs[-1].n:
            break
        levels.append((cluster, sign))
        pulls.append(np.bincount(cluster, pulls[-1] * sign))
        graphs.append(graphs[-1].merged(cluster, sign))
        part = cluster[part]
    signs = np.where(pulls[-1] < 0, -1.0, 1.0)
    for (cluster, sign), force, fine in zip(levels[::-1], pulls[-2::-1], graphs[-2::-1], strict=True):
        signs = signs[cluster] * sign
        matrix = fine.matrix()
        _native.improve_signs(matrix.indptr, matrix.indices, matrix.data, force, signs, _SWEEPS)
    return signs, part


def winding_directions(
    points: np.ndarray, spacing: np.ndarray, outlying: np.ndarray | None = None, noisy: bool = False
) -> np.ndarray:
    """Unit vectors (n, 3) that look outwards, roughly, from the points alone; outlying ones have no say.

    Every point of a closed surface has winding number 1/2. Moments m_j = area_j times normal_j that give it,
    sum_j m_j . (x_j - x_i) / (4 pi |x_j - x_i|^3) = 1/2 for all i, are the outward normals, up to what the equations
    leave open [Lin et al. 2022]. The smallest moments that fit, damped, are found by conjugate gradients, on a thinned
    cloud if it is large; they are values of a field, which is evaluated at all points. Only directions matter: the
    factor 4 pi is left out.
    """
    kept = np.arange(len(points)) if outlying is None else np.flatnonzero(~outlying)
    rows = kept[_thinned(points[kept])]
    spacing = spacing * np.sqrt(len(kept) / len(rows))
    sources = _Sources(points[rows], spacing[rows])
    return _unit(sources.transposed(sources.solve(0.5, _DAMPING[noisy]), points))


class _Sources:
    """Points in a tree, with the matrix A of winding numbers of their moments."""

    def __init__(self, points: np.ndarray, spacing: np.ndarray):
        tree = cKDTree(points, leafsize=_LEAF)
        usual = float(np.median(spacing))
        self.order = tree.indices
        self.points = np.ascontiguousarray(points[self.order])
        self.widths = np.clip(spacing, usual / 3, usual * 3)[self.order]
        self.spans, self.children = _nodes(tree)
        self.leaves = np.flatnonzero(self.children[:, 0] < 0)
        sums = np.concatenate([np.zeros((1, 3)), np.cumsum(self.points, axis=0)])
        sizes = (self.spans[:, 1] - self.spans[:, 0])[:, None]
        self.centers = (sums[self.spans[:, 1]] - sums[self.spans[:, 0]]) / sizes
        spans = zip(self.spans.tolist(), self.centers, strict=True)
        squares = [((self.points[first:last] - center) ** 2).sum(axis=1).max() for (first, last), center in spans]
        self.radii = np.sqrt(squares)
        counts = np.empty((len(self.leaves), 2), dtype=np.int64)
        walk = self.centers, self.radii, self.children, self.leaves, _OPENING
        _native.count_walks(*walk, counts)
        starts = np.concatenate([np.zeros((1, 2), dtype=np.int64), np.cumsum(counts, axis=0)])
        far, near = (np.empty(total, dtype=np.int32) for total in starts[-1])
        lists = starts[:, 0].copy(), far, starts[:, 1].copy(), near
        _native.fill_walks(*walk, *lists)
        self.lists = self.leaves, *lists

    def transposed(self, strength: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """A' strength (in the order of the tree), as a field at the targets."""
        sums, field = np.empty((len(self.spans), 4)), np.empty((len(targets), 3))
        _native.source_moments(self.points, strength, self.spans, self.centers, sums)
        nodes = self.spans, self.centers, self.radii, self.children, _OPENING
        _native.source_fields(targets, self.points, strength, self.widths, *nodes, sums, field)
        return field

    def winding(self, moments: np.ndarray) -> np.ndarray:
        """A moments: winding numbers times 4 pi, in the order of the tree."""
        sums, values = np.empty((len(self.spans), 12)), np.empty(len(self.points))
        _native.winding_moments(self.points, moments, self.spans, self.centers, sums)
        _native.winding_values(self.points, moments, self.widths, self.spans, self.centers, sums, *self.lists, values)
        return values

    def solve(self, value: float, damping: float) -> np.ndarray:
        """The solution of (A A' + damping) strength = value."""
        diagonal = np.empty(len(self.points))
        _native.squared_rows(self.points, self.widths, self.spans, self.centers, *self.lists, diagonal)
        extra = (damping - 1.0) * diagonal
        strength = np.zeros(len(self.points))
        conjugate_gradients(
            lambda v: self.winding(self.transposed(v, self.points)) + extra * v,
            lambda v: v / diagonal,
            np.full(len(self.points), value),
            strength,
            tol=_RESIDUAL,
            max_iter=_STEPS,
        )
        return strength


def _thinned(points: np.ndarray) -> np.ndarray:
    rows = np.arange(len(points))
    cell = float(np.ptp(points, axis=0).max()) / np.sqrt(_MOST_SOURCES)
    while len(rows) > _MOST_SOURCES:
        rows = thin_rows(points, cell)
        cell *= np.clip(np.sqrt(len(rows) / _MOST_SOURCES), 1.05, 2.0)
    return rows


def _nodes(tree: cKDTree) -> tuple[np.ndarray, np.ndarray]:
    """First and last row of each node, in the order of the tree, and its children (-1: none); the root comes first."""
    spans: list[tuple[int, int]] = []
    children: list[list[int]] = []
    waiting = [(tree.tree, -1, 0)]
    while waiting:
        node, parent, side = waiting.pop()
        if parent >= 0:
            children[parent][side] = len(spans)
        spans.append((node.start_idx, node.end_idx))
        children.append([-1, -1])
        if node.lesser is not None:
            waiting += [(node.greater, len(spans) - 1, 1), (node.lesser, len(spans) - 1, 0)]
    return np.array(spans), np.array(children)
