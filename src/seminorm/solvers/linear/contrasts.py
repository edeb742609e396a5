"""A sparse approximate inverse of a kernel matrix on the complement of a null space, from local contrasts.

Points are taken from coarse to fine. Row i of C is the combination of the value at point i and those at its nearest
earlier points that vanishes on the null space, is uncorrelated with all such combinations of these neighbours, and has
variance 1. If the neighbours were all earlier points, C'C would be the inverse; far ones hardly matter once near ones
are known [Vecchia 1988], [Stein et al. 2004], [Schäfer et al. 2021].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy import sparse

from ... import _native
from ..._base.threads import limited_threads, thread_count
from ...nullspace.linear_algebra import independent_columns, unisolvent_subset
from .coarse_to_fine import coarse_to_fine

_BATCH_ENTRIES = 2**18
_NEGLIGIBLE = 1e-13
_REMOTE = 1e3
_FIRST = 512  # points among which those that determine the null space are looked for


class EarlierNeighbors:
    """Points (n, d) from coarse to fine, each with its nearest earlier points; P (n, r) is the null space there."""

    def __init__(self, points: np.ndarray, P: np.ndarray, n_neighbors: int):
        n, self.rank = P.shape
        self.order = _unisolvent_first(coarse_to_fine(points), P)
        self.points, self.null = np.ascontiguousarray(points[self.order]), np.ascontiguousarray(P[self.order])
        self.sizes = np.abs(P).max(axis=0, initial=0.0)
        self.neighbors = np.empty((n, max(1, min(n_neighbors, n - 1))), dtype=np.int32)
        _native.earlier_neighbors(self.points, self.neighbors)

    def contrasts(
        self, kernel: Callable[[np.ndarray], np.ndarray], noise: np.ndarray, rows: np.ndarray | None = None
    ) -> LocalContrasts:
        """The contrasts for a kernel, a function of squared distances, plus independent noise of variances (n,).

        ``rows`` are places in the order, all if left out.
        """
        rows = np.arange(len(self.order)) if rows is None else rows
        noise = np.ascontiguousarray(np.broadcast_to(noise, len(self.order))[self.order], dtype=float)
        neighbors = self.neighbors[rows]
        values = np.empty((len(rows), neighbors.shape[1] + 1))
        lost = self._fill(kernel, noise, rows, neighbors, values)
        lost = lost[rows[lost] >= self.rank]
        if len(lost):  # neighbours on a line, say: the first points determine the null space
            wider = self._with_first(rows[lost])
            more = np.empty((len(lost), wider.shape[1] + 1))
            self._fill(kernel, noise, rows[lost], wider, more)
            return LocalContrasts(self.order, rows, neighbors, values, (lost, wider, more))
        return LocalContrasts(self.order, rows, neighbors, values)

    def _fill(self, kernel, noise, rows, neighbors, values) -> np.ndarray:
        """Write the contrasts of some points; returns which of them have none."""
        found = np.empty(len(rows), dtype=np.int32)
        pairs = (neighbors.shape[1] + 1) * (neighbors.shape[1] + 2) // 2
        step = max(1, _BATCH_ENTRIES // pairs)

        def fill(begin: int) -> None:
            part = slice(begin, begin + step)
            squares = np.empty((len(rows[part]), pairs))
            with limited_threads(1):
                _native.local_squares(self.points, rows[part], neighbors[part], squares)
                _native.local_contrasts(
                    rows[part], neighbors[part], np.ascontiguousarray(kernel(squares)), noise, self.null, self.sizes,
                    _NEGLIGIBLE, _REMOTE, values[part], found[part],
                )  # fmt: skip

        _for_each(fill, range(0, len(rows), step))
        return np.flatnonzero(found == 0)

    def _with_first(self, rows: np.ndarray) -> np.ndarray:
        """The neighbours of some points, and the first points, which determine the null space."""
        wider = np.full((len(rows), self.neighbors.shape[1] + self.rank), -1, dtype=np.int32)
        for k, row in enumerate(rows):
            near = self.neighbors[row]
            near = near[near >= 0]
            both = np.concatenate([near, np.setdiff1d(np.arange(min(self.rank, row), dtype=np.int32), near)])
            wider[k, : len(both)] = both
        return wider


class LocalContrasts:
    """The matrix C; calling it multiplies by C'C, an approximate inverse on the complement of the null space."""

    def __init__(
        self,
        order: np.ndarray,
        rows: np.ndarray,
        neighbors: np.ndarray,
        values: np.ndarray,
        wider: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
    ):
        self.scales = values[:, -1]  #: (rows,) one over the standard deviation of each point given its neighbours
        blocks = [(np.arange(len(rows)), neighbors, values)]
        if wider is not None:
            self.scales = self.scales.copy()
            self.scales[wider[0]] = wider[2][:, -1]
            blocks.append(wider)
        parts = [_sparse_rows(order, rows, *block) for block in blocks]
        self.matrix = sum(parts[1:], parts[0])

    def __call__(self, right: np.ndarray) -> np.ndarray:
        """C'C applied to a vector or to columns."""
        return self.matrix.T @ (self.matrix @ right)

    def diagonal(self) -> np.ndarray:
        """The diagonal of C'C."""
        return np.bincount(self.matrix.indices, self.matrix.data**2, minlength=self.matrix.shape[1])


def _sparse_rows(order, rows, which, neighbors, values) -> sparse.csr_array:
    """LocalContrasts as rows of a sparse matrix whose columns are the points in their own order."""
    index = order.astype(np.int32)
    columns = np.concatenate([index[neighbors], index[rows[which]][:, None]], axis=1).ravel()
    width = values.shape[1]
    starts = np.zeros(len(rows) + 1, dtype=np.int64)
    starts[which + 1] = width
    starts = np.cumsum(starts)
    starts = starts.astype(np.int32) if starts[-1] < np.iinfo(np.int32).max else starts
    return sparse.csr_array((values.ravel(), columns, starts), shape=(len(rows), len(order)))


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
