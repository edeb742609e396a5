"""A sparse approximate inverse of a kernel matrix on the complement of a null space, from local contrasts.

Points are taken from coarse to fine. Row i of C is the combination of the value at point i and those at its nearest
earlier points that vanishes on the null space, is uncorrelated with all such combinations of these neighbours, and has
variance 1. If the neighbours were all earlier points, C'C would be the inverse; far ones hardly matter once near ones
are known [Vecchia 1988], [Stein et al. 2004], [Schäfer et al. 2021]. The observations at one point, such as a value and
a gradient, make a group with the same neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ... import _native
from ..._base.threads import limited_threads, thread_count
from ...nullspace.linear_algebra import independent_columns, unisolvent_subset
from .coarse_to_fine import coarse_to_fine

_BATCH_ENTRIES = 2**18
_NEGLIGIBLE = 1e-13
_REMOTE = 1e3
_FIRST = 512  # observations among which those that determine the null space are looked for

Profile = Callable[[np.ndarray, int], np.ndarray]  #: (squared distances, derivative in them) -> values


class Jets(NamedTuple):
    """Observations c f(x) + g . grad f(x) at places (n, d): the place of each (N,), and its jet (c, g), (N, 1 + d)."""

    place: np.ndarray
    jets: np.ndarray


class EarlierNeighbors:
    """Points (n, d) from coarse to fine, each with its nearest earlier points; P (n, r) is the null space there.

    With ``jets`` P is (N, r) for N observations, and those at one point make a group. The ones that determine the null
    space come first, as groups of their own.
    """

    def __init__(self, points: np.ndarray, P: np.ndarray, n_neighbors: int, jets: Jets | None = None):
        self.rank = P.shape[1]
        if jets is None:
            self.order = _unisolvent_first(coarse_to_fine(points), P)
            members, self.first = self.order, np.arange(len(P) + 1)
            self.jets, sizes = np.empty((0, 0)), P
        else:
            self.order, self.first = _grouped(points, P, jets)
            members = jets.place[self.order[self.first[:-1]]]
            self.jets = np.ascontiguousarray(jets.jets[self.order])
            sizes = P / _lengths(points, jets.jets)[:, None]
        self.points, self.null = np.ascontiguousarray(points[members]), np.ascontiguousarray(P[self.order])
        self.sizes = np.abs(sizes).max(axis=0, initial=0.0)
        n = len(self.points)
        self.neighbors = np.empty((n, max(1, min(n_neighbors, n - 1))), dtype=np.int32)
        _native.earlier_neighbors(self.points, self.neighbors)

    @property
    def n_groups(self) -> int:
        """Points, or groups of observations."""
        return len(self.points)

    def contrasts(self, profile: Profile, noise: np.ndarray, rows: np.ndarray | None = None) -> LocalContrasts:
        """The contrasts for a kernel plus independent noise of variances (N,).

        ``rows`` are groups by their places in the order, all if left out.
        """
        rows = np.arange(self.n_groups) if rows is None else rows
        noise = np.ascontiguousarray(np.broadcast_to(noise, len(self.order))[self.order], dtype=float)
        found, lost = self._matrix(profile, noise, rows, self.neighbors[rows])
        lost = lost[self.first[rows[lost]] >= self.rank]
        if len(lost):  # neighbours on a line, say: the first ones determine the null space
            others, _ = self._matrix(profile, noise, rows[lost], self._with_first(rows[lost]))
            own = np.flatnonzero(np.isin(found.groups, lost))
            spread = sparse.csr_array((np.ones(len(own)), (own, np.arange(len(own)))), (len(found.scales), len(own)))
            found.scales[own] = others.scales
            found.matrix = found.matrix + spread @ others.matrix
        return found

    def _matrix(self, profile: Profile, noise, rows, neighbors) -> tuple[LocalContrasts, np.ndarray]:
        """The contrasts of some groups, and which of them have none."""
        counts = np.diff(self.first)
        own = counts[rows]
        width = own + np.where(neighbors >= 0, counts[neighbors], 0).sum(axis=1)
        begins = np.concatenate([[0], np.cumsum(own * width)])
        values, columns = np.empty(begins[-1]), np.empty(begins[-1], dtype=np.int32)
        found = np.empty(len(rows), dtype=np.int32)
        self._fill(profile, noise, rows, neighbors, begins, values, columns, found)
        groups = np.repeat(np.arange(len(rows)), own)
        starts = np.concatenate([[0], np.cumsum(width[groups])])
        later = np.cumsum(own)[groups] - np.arange(len(groups))  # entries from the diagonal on
        short = starts.astype(np.int32) if starts[-1] < np.iinfo(np.int32).max else starts
        matrix = sparse.csr_array((values, columns, short), shape=(len(groups), len(self.order)))
        return LocalContrasts(matrix, values[starts[1:] - later], groups), np.flatnonzero(found == 0)

    def _fill(self, profile: Profile, noise, rows, neighbors, begins, values, columns, found) -> None:
        pairs = (neighbors.shape[1] + 1) * (neighbors.shape[1] + 2) // 2
        orders = 3 if len(self.jets) else 1
        step = max(1, _BATCH_ENTRIES // (orders * pairs))
        index = self.order.astype(np.int32)

        def fill(first: int) -> None:
            part, last = slice(first, first + step), min(first + step, len(rows))
            squares, profiles = np.empty((last - first, pairs)), np.empty((last - first, orders, pairs))
            to, some = slice(begins[first], begins[last]), begins[first : last + 1] - begins[first]
            with limited_threads(1):
                _native.local_squares(self.points, rows[part], neighbors[part], squares)
                for k in range(orders):
                    profiles[:, k] = profile(squares, k)
                _native.local_contrasts(
                    rows[part], neighbors[part], self.first, self.points, profiles, self.jets, noise, self.null,
                    self.sizes, _NEGLIGIBLE, _REMOTE, some, index, values[to], columns[to], found[part],
                )  # fmt: skip

        _for_each(fill, range(0, len(rows), step))

    def _with_first(self, rows: np.ndarray) -> np.ndarray:
        """The neighbours of some groups, and the first ones, which determine the null space."""
        wider = np.full((len(rows), self.neighbors.shape[1] + self.rank), -1, dtype=np.int32)
        for k, row in enumerate(rows):
            near = self.neighbors[row]
            near = near[near >= 0]
            both = np.concatenate([near, np.setdiff1d(np.arange(min(self.rank, row), dtype=np.int32), near)])
            wider[k, : len(both)] = both
        return wider


class LocalContrasts:
    """The matrix C; calling it multiplies by C'C, an approximate inverse on the complement of the null space.

    ``scales`` are one over the standard deviations of the observations given their neighbours; ``groups`` says to which
    of the rows that were asked for each of them belongs.
    """

    def __init__(self, matrix: sparse.csr_array, scales: np.ndarray, groups: np.ndarray):
        self.matrix, self.scales, self.groups = matrix, scales, groups

    def __call__(self, right: np.ndarray) -> np.ndarray:
        """C'C applied to a vector or to columns."""
        return self.matrix.T @ (self.matrix @ right)

    def squares(self, right: np.ndarray) -> np.ndarray:
        """|C x|^2 for each column x."""
        return np.square(self.matrix @ right).sum(axis=0)

    def diagonal(self) -> np.ndarray:
        """The diagonal of C'C."""
        return np.bincount(self.matrix.indices, self.matrix.data**2, minlength=self.matrix.shape[1])


def _lengths(points: np.ndarray, jets: np.ndarray) -> np.ndarray:
    """How large observations are in terms of values: |c| + |g| over the extent of the points."""
    extent = float(np.ptp(points, axis=0).max()) or 1.0
    return np.abs(jets[:, 0]) + np.linalg.norm(jets[:, 1:], axis=1) / extent


def _grouped(points: np.ndarray, P: np.ndarray, jets: Jets) -> tuple[np.ndarray, np.ndarray]:
    """Observations in the order of their places from coarse to fine, and where the groups begin."""
    rank_of_place = np.empty(len(points), dtype=np.int64)
    rank_of_place[coarse_to_fine(points)] = np.arange(len(points))
    scaled = P / _lengths(points, jets.jets)[:, None]
    order = _unisolvent_first(np.argsort(rank_of_place[jets.place], kind="stable"), scaled)
    r, places = P.shape[1], jets.place[order]
    is_new = np.ones(len(order), dtype=bool)
    is_new[r + 1 :] = places[r + 1 :] != places[r:-1]
    return order, np.concatenate([np.flatnonzero(is_new), [len(order)]])


def _unisolvent_first(order: np.ndarray, P: np.ndarray) -> np.ndarray:
    """Points that determine the null space moved to the front."""
    if not P.shape[1]:
        return order
    some = order[:_FIRST]
    if len(some) < len(order) and independent_columns(P[some]) is not None:
        some = order
    first = some[unisolvent_subset(P[some])]
    return np.concatenate([first, order[~np.isin(order, first)]])


def _for_each(work: Callable[[int], None], items: range) -> None:
    """Call work for each item on several threads; an interruption ends it soon."""
    pool = ThreadPoolExecutor(thread_count())
    try:
        for _ in _results(pool, work, items):
            pass
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _results(pool: ThreadPoolExecutor, work: Callable[[int], None], items: range) -> Iterator[None]:
    yield from pool.map(work, items)
