"""Which points lie on a surface with others: a vote of neighbours.

In empty space nothing opposes an outlier: whatever its weight, a fit makes a sheet through it. So points that do not
belong are found before anything is fitted. Two neighbours support each other if each lies near the plane of the other
and their normals agree. A point is trusted by how many trusted neighbours support it, which is iterated. Without given
normals the planes that are compared come from two disjoint halves of the points: otherwise outliers would agree because
they share neighbours. Parts of trusted points that are too small, and sheets that hover over larger ones, lose their
vote. Then all points are judged by the votes that they get.

A cloud of which hardly any point is far from all trusted ones is left as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from .._base.threads import thread_count
from .ghosts import Sheets

_NEIGHBORS = 16
_HEIGHT = 0.35  # over a neighbour's plane, in its radius (the distance of its last neighbour): 0.8 distances of points
_WIDER = 4.0  # height that is tolerated, over the median height: for noise
_REACH = 1.5  # of a vote, in radii of the voter
_AGREE, _AGREE_HALVES = 0.5, 0.7  # cosine of given normals, and of normals of different halves
_JOINED = -0.3  # cosine of normals on one part
_VOTES, _VOTES_HALVES = 4.0, 6.0  # that make a point trusted
_ROUNDS = 8
_FEW, _SUPPORTED = 2000, 0.45  # fewer voters while the median share of supporting neighbours is lower than that
_LEAST_TRUST = 0.35  # share of trusted points below which nothing is set aside
_GROWTH, _SIMILAR = 40, 1.5  # rounds of growth; radius of a point over that of its voters
_PART_SHARE, _PART_LEAST, _PART_MOST = 0.01, 10, 30  # points of a part that may vote
_SMALL_PART, _SPARSE_PART = 0.05, 2.0  # share of the points, and radius over the usual one
_DIRTY = 0.005  # share of far points from which on a cloud is cleaned
_CLEAR = 0.6  # share of supporting neighbours among the trusted ones, where planes are clear
_OFF_RATIO, _OFF_LEAST = 4.0, 0.2  # height over that of the neighbours, and in radii, of a point off the surface
_LIMB = 6  # points of a thin limb
_SPREAD = 2.3  # distance to the last neighbour, in distances of points
_HALF_NEIGHBORS, _PLANE_ROUNDS, _OUTLYING = 10, 2, 4.685
_CLOSED, _FLAT = (
    0.1,
    0.01,
)  # share of the area that may lack; volume over area**1.5 (of a ball 0.094)
_GLANCE = 6000  # points at which a first look is enough, if nothing is wrong with them
_MOST_VOTERS = 60_000


@dataclass(frozen=True)
class Trust:
    """What a vote found."""

    keep: np.ndarray  #: (n,) whether a point belongs to a surface
    far: float  #: share of points far from all trusted ones
    ghosts: int = 0  #: how many points lie on sheets that hover over others

    @property
    def dirty(self) -> bool:
        """Whether some points do not belong, and more than chance would have it."""
        return self.far > _DIRTY or self.ghosts > 0

    @property
    def outliers(self) -> int:
        """How many points do not belong."""
        return int(len(self.keep) - self.keep.sum())


def trusted_points(points: np.ndarray, normals: np.ndarray | None = None) -> Trust:
    """A vote of neighbours on points (n, 3) and their unit normals, if these are given.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.clouds.trust import trusted_points
    >>> rng = np.random.default_rng(0)
    >>> sphere = rng.standard_normal((2000, 3))
    >>> sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    >>> dirty = np.vstack([sphere, rng.uniform(-1.5, 1.5, (40, 3))])
    >>> found = trusted_points(dirty)
    >>> bool(found.keep[:2000].mean() > 0.98), bool(found.keep[2000:].mean() < 0.2)
    (True, True)
    """
    n = len(points)
    everything = np.ones(n, dtype=bool)
    if n <= 2 * _NEIGHBORS:
        return Trust(everything, 0.0)
    if n > 2 * _GLANCE:
        some = np.sort(_order(n)[:_GLANCE])
        glance = _vote(points[some], None if normals is None else normals[some])
        if glance.keep.all() and not _looks_doubled(points, normals):
            return Trust(everything, glance.far)
    return _vote(points, normals)


def points_inwards(points: np.ndarray, normals: np.ndarray, areas: np.ndarray) -> bool:
    """Whether the normals of a closed surface point inwards: the volume that they bound is then negative.

    A surface with a hole larger than a tenth of its area counts as open, and tells nothing.
    """
    total = float(areas.sum())
    opening = float(np.linalg.norm(areas @ normals)) / total
    d = points.shape[1]
    volume = float((areas * _dots(points - points.mean(axis=0), normals)).sum()) / d
    return opening < _CLOSED and volume < -_FLAT * total ** (d / (d - 1))


def _vote(points: np.ndarray, normals: np.ndarray | None) -> Trust:
    voters = _chosen_voters(points, normals)
    if voters.trust.mean() < _LEAST_TRUST:  # nothing is clear: leave it as it is
        return Trust(np.ones(len(points), dtype=bool), 0.0)
    voters.withdraw_ghosts()
    voters.withdraw_small_parts()
    if normals is None:
        voters.grow()
    return _judge(points, voters)


def _looks_doubled(points: np.ndarray, normals: np.ndarray | None) -> bool:
    """Whether some points have another sheet over them, at the resolution of all voters."""
    if len(points) > _MOST_VOTERS:
        rows = np.sort(_order(len(points))[:_MOST_VOTERS])
        points, normals = points[rows], None if normals is None else normals[rows]
    tree = cKDTree(points)
    distance, near = tree.query(points, k=_NEIGHBORS + 1, workers=thread_count())
    planes = _planes(points, near, points) if normals is None else normals
    return Sheets(points, planes, normals is not None, distance[:, -1] / _SPREAD, tree).looks_doubled()


def _order(n: int) -> np.ndarray:
    return np.random.default_rng(20211).permutation(n)


def _chosen_voters(points: np.ndarray, normals: np.ndarray | None) -> _Voters:
    """All points, or a part of them that is coarse enough for its noise to look like a surface."""
    n = len(points)
    rows = np.arange(n) if n <= _MOST_VOTERS else np.sort(_order(n)[:_MOST_VOTERS])
    while True:
        voters = _Voters(points, rows, normals)
        if voters.supported >= _SUPPORTED or len(rows) // 4 < _FEW:
            return voters
        rows = np.sort(_order(n)[: len(rows) // 4])


class _Voters:
    """Points that vote: their planes, the pairs of neighbours, and the trust in each."""

    def __init__(self, points: np.ndarray, rows: np.ndarray, normals: np.ndarray | None):
        self.rows, self.points, self.signed = rows, points[rows], normals is not None
        self.tree = cKDTree(self.points)
        distance, near = self.tree.query(self.points, k=_NEIGHBORS + 1, workers=thread_count())
        self.spread = self.radius = np.maximum(distance[:, -1], 1e-300)  # the latter is that of the vote
        self.normals = _planes(self.points, near, self.points) if normals is None else normals[rows]
        self.first, self.second = _pairs(near[:, 1:])
        i, j = self.first, self.second
        across = self.points[j] - self.points[i]
        self.length = _lengths(across)
        self._smaller = np.minimum(self.radius[i], self.radius[j])
        self._height = np.maximum(np.abs(_dots(self.normals[i], across)), np.abs(_dots(self.normals[j], across)))
        placed = (self._height <= _HEIGHT * self._smaller) & (self.length <= _REACH * self._smaller)
        if self.signed:
            cosine = _dots(self.normals[i], self.normals[j])
            self._same, self.joined = cosine >= _AGREE, placed & (cosine > _JOINED)
        else:
            one, other = _half_planes(self.points)
            agrees = [np.abs(_dots(a[i], b[j])) >= _AGREE_HALVES for a, b in ((one, other), (other, one))]
            self._same, self.joined = agrees[0] & agrees[1], placed
        self.supporting = placed & self._same

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def both_ways(self) -> tuple[np.ndarray, np.ndarray]:
        """Each pair twice: who gets a vote, and whose it is."""
        return np.concatenate([self.first, self.second]), np.concatenate([self.second, self.first])

    @property
    def supported(self) -> float:
        """The median share of supporting neighbours."""
        return float(np.median(self._share(np.ones(len(self), dtype=bool))))

    def _share(self, known: np.ndarray) -> np.ndarray:
        """Share of supporting neighbours among the known ones."""
        to, by = self.both_ways
        counted = known[to] & known[by]
        supporting = np.bincount(to[counted], np.tile(self.supporting, 2)[counted], minlength=len(self))
        return supporting / np.maximum(np.bincount(to[counted], minlength=len(self)), 1)

    @cached_property
    def tolerance(self) -> float:
        """Height over a plane, in radii, at which a point still lies on it."""
        heights = (self._height / self._smaller)[self._same if self.signed else slice(None)]
        return float(np.clip(_WIDER * np.median(heights), _HEIGHT, 1.0)) if len(heights) else _HEIGHT

    @cached_property
    def weight(self) -> np.ndarray:
        """Trust in each voter, from 0 to 1, by the votes of those that are trusted."""
        to, by = (side[np.tile(self.supporting, 2)] for side in self.both_ways)
        votes = coo_array((np.ones(len(to)), (to, by)), shape=(len(self), len(self))).tocsr()
        weight = np.ones(len(self))
        for _ in range(_ROUNDS):
            weight = np.minimum(votes @ weight / (_VOTES if self.signed else _VOTES_HALVES), 1.0)
        return weight

    @cached_property
    def trust(self) -> np.ndarray:
        """Whether a voter is trusted."""
        return self.weight >= 0.5

    @cached_property
    def usual(self) -> float:
        """The median radius of trusted voters."""
        return float(np.median(self.radius[self.trust])) if self.trust.any() else np.inf

    @property
    def _enough(self) -> float:
        return float(np.clip(_PART_SHARE * len(self), _PART_LEAST, _PART_MOST))

    def _parts(self, linked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Parts of trusted voters joined by such pairs: the label of each voter, and the sizes."""
        kept = linked & self.trust[self.first] & self.trust[self.second]
        label = _components(self.first[kept], self.second[kept], len(self))
        return label, np.bincount(label[self.trust], minlength=label.max() + 1)

    @cached_property
    def sheets(self) -> Sheets:
        """The voters as sheets of which one may be the ghost of another."""
        return Sheets(self.points, self.normals, self.signed, self.spread / _SPREAD, self.tree)

    def withdraw_ghosts(self) -> None:
        """Sheets that hover over others have no vote."""
        a, b = self.first[self.supporting], self.second[self.supporting]
        self.ghost = self.sheets.ghosts(self.trust, a, b)
        self.trust = self.trust & ~self.ghost

    def withdraw_small_parts(self) -> None:
        """Parts of few points have no vote; without normals, neither have small parts of sparse points, whose planes
        may agree by chance."""
        label, sizes = self._parts(self.joined)
        trust = self.trust & (sizes[label] >= self._enough)
        if not self.signed and trust.any():
            usual = float(np.median(self.radius[trust]))
            mean = np.bincount(label[trust], self.radius[trust], minlength=len(sizes)) / np.maximum(sizes, 1)
            trust &= ~((mean > _SPARSE_PART * usual) & (sizes < _SMALL_PART * len(self)))[label]
        self.trust, self.weight = trust, np.where(trust, self.weight, 0.0)

    def grow(self) -> None:
        """Points as dense as trusted ones around them, and on their planes, become trusted too."""
        to, by = self.both_ways
        across = self.points[to] - self.points[by]
        distance, height = _lengths(across), np.abs(_dots(self.normals[by], across))
        radius, weight = self.radius.copy(), self.weight.copy()
        for _ in range(_GROWTH):
            reach = radius[by]
            near = (height <= _HEIGHT * reach) & (distance <= _REACH * reach) & (radius[to] <= _SIMILAR * reach)
            vote = weight[by] * near
            votes = np.bincount(to, vote, minlength=len(self))
            new = (weight < 1.0) & (votes >= _VOTES) & ~self.ghost
            if not new.any():
                break
            weight[new] = 1.0  # and votes with the radius of those that trust it, lest outliers form chains
            mean = np.bincount(to, vote * reach, minlength=len(self)) / np.maximum(votes, 1e-300)
            radius = np.where(new, np.minimum(radius, mean), radius)
        self.weight, self.radius = weight, radius

    @cached_property
    def attached(self) -> np.ndarray:
        """Whether a voter is joined to trusted ones by short steps: not a cluster in empty space."""
        close = self.length <= _REACH * np.minimum(self.spread[self.first], self.spread[self.second])
        label = _components(self.first[close], self.second[close], len(self))
        return (np.bincount(label, self.weight, minlength=label.max() + 1) > 0)[label]

    @cached_property
    def clarity(self) -> np.ndarray:
        """Share of supporting neighbours among the trusted ones."""
        return self._share(self.weight > 0)

    def limbs(self, placed: np.ndarray) -> np.ndarray:
        """Groups of points that no plane explains (thin limbs, tips), as dense as the trusted ones that they touch."""
        radius = self.spread
        close = self.length <= np.minimum(radius[self.first], radius[self.second])
        a, b = self.first[close], self.second[close]
        loose, firm = ~placed & (radius <= _SIMILAR * self.usual), placed & (self.weight > 0)
        both = loose[a] & loose[b]
        label = _components(a[both], b[both], len(self))
        number = int(label.max()) + 1
        size = np.bincount(label[loose], minlength=number)
        touch, around = np.zeros(number), np.zeros(number)
        for x, y in ((a, b), (b, a)):
            meets = loose[x] & firm[y]
            touch += np.bincount(label[x[meets]], minlength=number)
            around += np.bincount(label[x[meets]], radius[y[meets]], minlength=number)
        own = np.bincount(label[loose], radius[loose], minlength=number) / np.maximum(size, 1)
        good = (size >= _LIMB) & (touch >= _VOTES) & (own <= _SIMILAR * around / np.maximum(touch, 1.0))
        return loose & good[label]


def _judge(points: np.ndarray, voters: _Voters) -> Trust:
    """What the voters say of all points."""
    n, everyone = len(points), len(voters) == len(points)
    if everyone:
        to, by = voters.both_ways
        spread = voters.spread
    else:
        to, by, spread = _votes_on_all(points, voters)
    across, reach = points[to] - voters.points[by], voters.radius[by]
    height = np.abs(_dots(voters.normals[by], across)) / reach
    weight = voters.weight[by] * (_lengths(across) <= _REACH * reach)
    near = weight * (height <= voters.tolerance)
    placed = np.bincount(to, near, minlength=n) >= _VOTES
    total = np.bincount(to, weight, minlength=n)
    counts = np.maximum(np.bincount(to, minlength=n), 1)
    nearby = np.exp(np.bincount(to, np.log(voters.spread)[by], minlength=n) / counts)
    lonely = (total < _VOTES) & (spread > _SIMILAR * nearby)  # sparser than the points around it
    far = float(lonely.mean())
    dirty = far > _DIRTY
    total_or_one = np.maximum(total, 1e-300)
    clarity = np.bincount(to, weight * voters.clarity[by], minlength=n) / total_or_one
    unclear = (clarity < _CLEAR) if dirty else np.ones(n, dtype=bool)
    usual = np.bincount(to, weight * reach, minlength=n) / total_or_one
    off = np.zeros(n, dtype=bool)
    if dirty:
        typical = np.bincount(to, weight * height, minlength=n) / total_or_one
        around = np.bincount(to, weight * typical[voters.rows][by], minlength=n) / total_or_one
        off = placed & ~unclear & (typical > np.maximum(_OFF_RATIO * around, _OFF_LEAST))
    dense = (total >= _VOTES) & (spread <= _SIMILAR * usual)  # and unclear: thin parts, creases, noise
    keep = (placed & ~off) | (dense & unclear)
    if not dirty:
        keep |= voters.attached if everyone else voters.attached[voters.tree.query(points, workers=thread_count())[1]]
    if everyone:
        keep = (keep | voters.limbs(placed | off)) & ~voters.ghost
    return Trust(keep, far, int(voters.ghost.sum()))


def _votes_on_all(points: np.ndarray, voters: _Voters) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Who gets a vote, whose it is, and the radius of each point among the voters."""
    n = len(points)
    distance, near = voters.tree.query(points, k=_NEIGHBORS + 1, workers=thread_count())
    own = np.full(n, -1)
    own[voters.rows] = np.arange(len(voters))
    to, by = np.repeat(np.arange(n), _NEIGHBORS + 1), near.ravel()
    others = by != own[to]
    return to[others], by[others], distance[:, -1]


def _pairs(near: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of different points, each once, from the neighbours (n, k) of each."""
    n, k = near.shape
    i, j = np.repeat(np.arange(n), k), near.ravel()
    keys = np.unique((np.minimum(i, j) * n + np.maximum(i, j))[i != j])
    return keys // n, keys % n


def _components(i: np.ndarray, j: np.ndarray, n: int) -> np.ndarray:
    return connected_components(coo_array((np.ones(len(i)), (i, j)), shape=(n, n)), directed=False)[1]


def _planes(points: np.ndarray, near: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Unsigned normals of planes through the neighbours (m, k) of centres (m, 3), reweighted against outliers."""
    around = points[near]
    distance = ((around - centers[:, None]) ** 2).sum(axis=2)
    radius = np.sqrt(np.maximum(distance.max(axis=1), 1e-300))
    base = 1.0 - 0.75 * distance / radius[:, None] ** 2
    weight = base
    normal = np.zeros_like(centers)
    for _ in range(_PLANE_ROUNDS):
        mean = np.einsum("nk,nka->na", weight, around) / np.maximum(weight.sum(axis=1), 1e-12)[:, None]
        offset = around - mean[:, None]
        normal = np.linalg.eigh(np.einsum("nk,nka,nkb->nab", weight, offset, offset))[1][:, :, 0]
        height = np.abs(np.einsum("nka,na->nk", offset, normal))
        limit = np.maximum(_OUTLYING * 1.4826 * np.median(height, axis=1), 1e-3 * radius)
        share = height / limit[:, None]
        weight = base * np.where(share < 1.0, (1.0 - share**2) ** 2, 0.0)
    return normal


def _half_planes(points: np.ndarray) -> list[np.ndarray]:
    """Normals at all points of planes through two disjoint halves of them."""
    half = np.random.default_rng(7).permutation(len(points)) % 2 == 0
    found = []
    for rows in (np.flatnonzero(half), np.flatnonzero(~half)):
        part = points[rows]
        near = cKDTree(part).query(points, k=min(_HALF_NEIGHBORS, len(part)), workers=thread_count())[1]
        found.append(_planes(part, near, points))
    return found


def _dots(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", a, b)


def _lengths(vectors: np.ndarray) -> np.ndarray:
    return np.sqrt(_dots(vectors, vectors))
