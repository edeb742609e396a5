"""Ghost sheets: parts of a scan that was placed badly hover over what they show.

Two sheets that look the same way, one over the other with nothing between, cannot both bound a solid. The one that is
there goes on where they end; the ghost has a free border there. So the sheet of which fewer neighbours lead on, for its
size, is the ghost. Its normals are those of the other: a hand before a chest is no ghost.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from .._base.threads import thread_count

_LEAST_HEIGHT, _STEP = 1.5, 1.35  # of sheets, in distances of points; factor of the heights that are tried
_REACH = 0.05  # of the diagonal: largest height
_GAP = 0.35  # of the height: nothing is nearer to the middle
_SAME_WAY, _PARALLEL = 0.8, 0.95  # cosine of the normals of a pair, and the median over two sheets
_LEAST_POINTS, _LEAST_SHARE = 12, 0.01  # of a ghost, and of all points without signs
_RIM = 0.7  # points of what a sheet leads on to, over its own: less is the rim of a ghost
_LOOSE, _LOOSE_UNSIGNED = 0.58, 0.45  # neighbours that lead on, over those of the other sheet, for the size
_LOOKS = 1500  # points of a first look
_SOME, _SOME_UNSIGNED = 0.003, 0.06  # share of them with another sheet over them: thin parts have two sides, too


@dataclass(frozen=True)
class Sheets:
    """Points (n, 3), unit normals (n, 3), ``signed`` if they look outwards, distances of points (n,), and a tree."""

    points: np.ndarray
    normals: np.ndarray
    signed: bool
    spacing: np.ndarray
    tree: cKDTree

    def looks_doubled(self) -> bool:
        """Whether some of a few points have another sheet over them."""
        rows = np.unique(np.linspace(0, len(self.points) - 1, _LOOKS).astype(np.int64))
        share = len(np.unique(self.doubled(rows)[0])) / len(rows)
        return share > (_SOME if self.signed else _SOME_UNSIGNED)

    def doubled(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs of points, the first of some rows, on two sheets one over the other; cosines of their normals."""
        reach = _REACH * float(np.linalg.norm(np.ptp(self.points, axis=0)))
        found = [self._partners(rows, side * self.normals[rows], reach) for side in (1.0, -1.0)]
        first, second = (np.concatenate(parts) for parts in zip(*found, strict=True))
        cosine = np.einsum("ij,ij->i", self.normals[first], self.normals[second])
        cosine = cosine if self.signed else np.abs(cosine)
        same = cosine > _SAME_WAY
        return first[same], second[same], cosine[same]

    def _partners(self, rows: np.ndarray, up: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray]:
        """The next sheet over points, in the directions ``up``, if there is an empty gap between."""
        points, spacing, pairs = self.points, self.spacing[rows], []
        factor = _LEAST_HEIGHT
        while len(rows) and factor * spacing.min() <= reach:
            place = points[rows]
            other = self.tree.query(place + factor * spacing[:, None] * up, workers=thread_count())[1]
            across = points[other] - place
            height = np.einsum("ij,ij->i", across, up)
            beside = np.sqrt(np.maximum(np.einsum("ij,ij->i", across, across) - height**2, 0.0))
            hit = (height >= _LEAST_HEIGHT * spacing) & (beside <= spacing) & (height <= reach)
            middle = place[hit] + 0.5 * height[hit, None] * up[hit]
            empty = self.tree.query(middle, workers=thread_count())[0] >= _GAP * height[hit]
            pairs.append((rows[hit][empty], other[hit][empty]))
            left = ~hit & (factor * spacing <= reach)
            rows, up, spacing = rows[left], up[left], spacing[left]
            factor *= _STEP
        nothing = np.zeros(0, dtype=np.int64)
        first, second = zip(*pairs, strict=True) if pairs else ((nothing,), (nothing,))
        return np.concatenate(first), np.concatenate(second)

    def ghosts(self, trusted: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Which points (n,) are on ghosts; pairs a, b of neighbours support each other."""
        n = len(self.points)
        ghost = np.zeros(n, dtype=bool)
        first, second, cosine = self.doubled(np.flatnonzero(trusted))
        inside = np.zeros(n, dtype=bool)
        inside[first] = inside[second] = True
        sheet = _parts(a, b, inside)
        size = np.bincount(sheet[inside], minlength=n)
        rest = _parts(a, b, trusted & ~inside)
        around = np.bincount(rest[trusted & ~inside], minlength=n)[rest]  # a rim of its own is small
        leads_on = np.zeros(n)
        for one, other in ((a, b), (b, a)):
            out = inside[one] & ~inside[other] & trusted[other]
            out &= around[other] > _RIM * size[sheet[one]]
            leads_on += np.bincount(sheet[one[out]], minlength=n)
        attached = leads_on / np.sqrt(np.maximum(size, 1))
        pairs = np.minimum(sheet[first], sheet[second]).astype(np.int64) * n + np.maximum(sheet[first], sheet[second])
        least = _LEAST_POINTS if self.signed else max(_LEAST_POINTS, _LEAST_SHARE * n)
        for pair in np.unique(pairs):
            rows = np.flatnonzero(pairs == pair)
            low, high = sorted((sheet[first[rows[0]]], sheet[second[rows[0]]]), key=lambda k: (attached[k], size[k]))
            loose = attached[low] < (_LOOSE if self.signed else _LOOSE_UNSIGNED) * attached[high]
            if low != high and size[low] >= least and loose and np.median(cosine[rows]) > _PARALLEL:
                ghost |= inside & (sheet == low)
        return ghost


def _parts(a: np.ndarray, b: np.ndarray, among: np.ndarray) -> np.ndarray:
    """The part (n,) of each point, joined by pairs of which both are among some points."""
    within, n = among[a] & among[b], len(among)
    graph = coo_array((np.ones(np.count_nonzero(within)), (a[within], b[within])), shape=(n, n))
    return connected_components(graph, directed=False)[1]
