"""A prepared sum: the tree, the far field of each level, and the passes over them.

Up the tree: moments of the sources of each leaf, and of each box from its children. Across: moments of boxes become
series in the boxes that see them from afar. Down: from boxes to their children, and to the targets of the leaves. What
is near is summed directly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ... import _native
from ..._base.blas import suited_to
from ..._base.memory import require_memory
from ...kernels.forms import Form
from . import chebyshev as series
from .boxes import SortedPoints, subdivide
from .levels import FAR, NEAR, FarLevel, Request, choose_degree
from .space import in_rows

_PIECE = 256  # targets whose near field is summed by one thread at a time
_ROWS = 32  # boxes whose translations make a chunk
_MOST_OFFSETS = {1: 64, 2: 24, 3: 8}  # along an axis, between boxes of one level
_LEAST_LEAF = 16.0
_PER_PAIR = 2000.0  # multiplications and additions that a pair of boxes costs beside its matrix
_RANK = 0.62  # of the common space in terms of the number of terms, roughly
_PAIR_COST = 30, 75, 35, 60, 100, 50, 210  # of the forms of profiles, in multiplications and additions


class Moves(NamedTuple):
    """Translations out[to] += in[from] matrix, in chunks, as native/summation/translations.hpp wants them."""

    matrices: np.ndarray
    chunk_from: np.ndarray
    matrix: np.ndarray
    origin: np.ndarray
    to: np.ndarray

    def add(self, rows: np.ndarray, out: np.ndarray) -> None:
        """Apply them to rows (boxes, columns, numbers)."""
        _native.translate(rows, self.matrices, self.chunk_from, self.matrix, self.origin, self.to, out)


def _moves(matrices: np.ndarray, matrix: np.ndarray, origin: np.ndarray, to: np.ndarray) -> Moves:
    chunk = to // _ROWS
    order = np.lexsort((to, matrix, chunk))
    chunk_from = np.searchsorted(chunk[order], np.arange(chunk.max(initial=-1) + 2)).astype(np.int64)
    numbers = (np.ascontiguousarray(part[order], np.int32) for part in (matrix, origin, to))
    return Moves(matrices, chunk_from, *numbers)


def _in_pieces(spans: np.ndarray, range_from: np.ndarray, ranges: np.ndarray) -> tuple[np.ndarray, ...]:
    """Spans of targets and their ranges of sources, with long spans cut: each piece meets the same ranges."""
    pieces = -(-np.diff(spans)[:, 0] // _PIECE)
    leaf = np.repeat(np.arange(len(spans)), pieces)
    place = np.arange(len(leaf)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    begin = spans[leaf, 0] + _PIECE * place
    count = np.diff(range_from)[leaf]
    first = np.concatenate([[0], np.cumsum(count)])
    row = np.arange(first[-1]) - np.repeat(first[:-1] - range_from[leaf], count)
    return np.stack([begin, np.minimum(begin + _PIECE, spans[leaf, 1])], axis=1), first, ranges[row]


class Plan:
    """Everything that does not depend on the coefficients.

    sources and targets (n, 3) are sorted as the boxes say; forms are the profile and its derivatives.
    """

    def __init__(self, request: Request, points: SortedPoints, sources, targets, forms: Sequence[Form]):
        self.request, self.sources, self.targets, self.forms = request, sources, targets, forms
        self._degrees: dict[int, tuple[int, int] | None] = {}
        self.rows = in_rows(targets)
        with suited_to(0):
            self._deepest = points.bits
            while not self._subdivide(points):
                pass
            self._require_memory()
            self._find_pairs()

    @property
    def near_pairs(self) -> int:
        """How many pairs are summed directly."""
        spans, range_from, ranges = self.near
        sources = np.concatenate([[0], np.cumsum(np.diff(ranges)[:, 0])])[range_from]
        return int(np.diff(spans)[:, 0] @ np.diff(sources))

    def _degree(self, width: float, number: int) -> tuple[int, int] | None:
        if number not in self._degrees:
            known = self._degrees.get(number - 1)
            self._degrees[number] = choose_degree(self.request, width * 0.5**number, 1 if known is None else known[0])
        return self._degrees[number]

    def _worth(self, width: float, number: int, children: float) -> float:
        """The pairs in a box that cost as much as halving it, down to the next level on which boxes can be far.

        A box of a level has children^(log2 3) boxes around it; halved g times, each of its children^g parts sees
        (children^g - 1) times as many from afar, and so many times fewer pairs remain.
        """
        dimension, steps = self.request.dimension, 1
        if number >= self._deepest or width * 0.5 ** (number + 1) < self.request.least_width:
            return np.inf
        while steps < 3 and self._degree(width, number + steps) is None:
            steps += 1
        degree = self._degree(width, number + steps)
        if degree is None:  # pairs may still be dropped
            steps, rank = 1, 8.0
        else:
            rank = series.padded(int(_RANK * series.terms(dimension, degree[0])))
        cost = sum(_PAIR_COST[int(form.numbers[0])] for form in self.forms) / len(self.forms)
        return max(_LEAST_LEAF**2, children ** (2 * steps) * (2.0 * rank**2 + _PER_PAIR) / cost)

    def _subdivide(self, points: SortedPoints) -> bool:
        """Make boxes and levels; False if directions would be too many on a level: none is so deep any more then."""
        self.boxes = subdivide(points, lambda level, children: self._worth(points.width, level, children))
        before = self._deepest
        self._find_levels()
        return self._deepest == before

    def _find_levels(self) -> None:
        request, boxes = self.request, self.boxes
        self.levels: dict[int, FarLevel] = {}
        degrees: dict[int, tuple[int, int] | None] = {}
        for number in range(boxes.levels - 1, 1, -1):  # coarser levels pass through the finer ones
            degrees[number] = self._degree(boxes.width, number)
            if degrees[number] is None:
                break
        split, self.sizes, self.status = 0, [1], [np.full((1, 1, 1), NEAR, np.int8)]
        for number in range(1, boxes.levels):
            width = boxes.width * 0.5**number
            size = min(2**number, 2 * split + 2)
            if request.reach < np.inf:
                size = min(size, int(request.reach / width) + 3)
            if size > _MOST_OFFSETS[request.dimension]:
                self._deepest = number - 1
                return
            level = FarLevel(request, width, self.forms[0], size, degrees.get(number))
            self.levels[number] = level
            self.sizes.append(size)
            self.status.append(level.status)
            split = level.splits

    def _require_memory(self) -> None:
        """Estimate pairs, translations and the numbers of the boxes before any of them is made."""
        d, needed = self.request.dimension, 0.0
        for number, level in self.levels.items():
            count = self.boxes.level_from[number + 1] - self.boxes.level_from[number]
            offsets = min((2.0 * level.size - 1) ** d, float(count))
            needed += 24.0 * count * min(offsets, float((level.status == FAR).sum()))
            if level.degree >= 0:
                rank = series.padded(int(_RANK * level.terms))
                needed += 8.0 * (offsets * rank**2 + count * (3.0 * level.terms + 2.0 * rank))
        require_memory(
            int(needed), f"A sum over {len(self.sources)} centers at {len(self.targets)} targets",
            "ask for a larger tolerance, or sum over fewer targets at a time.",
        )  # fmt: skip

    def _find_pairs(self) -> None:
        boxes = self.boxes
        status = np.concatenate([part.reshape(-1) for part in self.status])
        status_from = np.concatenate([[0], np.cumsum([part.size for part in self.status])])
        codes, origin, to, chunk_from, level_chunks, leaves, range_from, ranges = _native.find_pairs(
            boxes.level_from, boxes.coords, boxes.parents, boxes.children, boxes.source_spans, boxes.target_spans,
            boxes.centers, boxes.halves, status, status_from, np.array(self.sizes, np.int64), self.request.reach, _ROWS,
        )  # fmt: skip
        self.near = _in_pieces(boxes.target_spans[leaves], range_from, ranges.reshape(-1, 2))
        self.across: dict[int, Moves] = {}
        for number in list(self.levels):
            chunks = chunk_from[level_chunks[number] : level_chunks[number + 1] + 1]
            pairs, first = slice(chunks[0], chunks[-1]), boxes.level_from[number]
            if chunks[0] == chunks[-1]:
                continue
            present = np.flatnonzero(np.bincount(codes[pairs]))
            numbers = np.zeros(present[-1] + 1, np.int32)
            numbers[present] = np.arange(len(present))
            level = self.levels[number]
            level.settle(present)
            self.across[number] = Moves(
                level.matrices, chunks - chunks[0], numbers[codes[pairs]],
                (origin[pairs] - first).astype(np.int32), (to[pairs] - first).astype(np.int32),
            )  # fmt: skip
        self.first = min(self.across, default=boxes.levels)
        self.levels = {number: level for number, level in self.levels.items() if number >= self.first}
        self._find_moves()

    def _find_moves(self) -> None:
        boxes, d = self.boxes, self.request.dimension
        self.up: dict[int, Moves] = {}
        self.down: dict[int, Moves] = {}
        self.squeeze: dict[int, Moves] = {}
        self.stretch: dict[int, Moves] = {}
        for number in self.levels:
            own = boxes.of_level(number)
            count = own.stop - own.start
            here = np.arange(count)
            if number in self.across:
                level, zero = self.levels[number], np.zeros(count, np.int64)
                self.squeeze[number] = _moves(level.compress, zero, here, here)
                self.stretch[number] = _moves(level.expand, zero, here, here)
            if number == self.first:
                continue
            matrices = series.to_parents(d, self.levels[number].degree, self.levels[number - 1].degree)
            parents = boxes.parents[own] - boxes.level_from[number - 1]
            self.up[number] = _moves(matrices, boxes.octant[own], here, parents)
            back = np.ascontiguousarray(matrices.transpose(0, 2, 1))
            self.down[number] = _moves(back, boxes.octant[own], parents, here)

    def _boxes_with_points(self, number: int, spans: np.ndarray) -> tuple:
        boxes, own = self.boxes, self.boxes.of_level(number)
        chosen = np.flatnonzero(boxes.leaves[own] & (np.diff(spans[own])[:, 0] > 0))
        everywhere = chosen + own.start
        return spans[everywhere], boxes.centers[everywhere], boxes.halves[everywhere], chosen.astype(np.int64)

    def _room(self, number: int, columns: int) -> np.ndarray:
        own = self.boxes.of_level(number)
        return np.zeros((own.stop - own.start, columns, series.padded(self.levels[number].terms)))

    def apply(self, coefficients: np.ndarray, out: np.ndarray) -> None:
        """Add the sums to out (m, columns, parts), for coefficients (n, columns, parts), both in sorted order."""
        local = self._across(self._moments(coefficients))
        self._read(local, out)
        spans, range_from, ranges = self.near
        _native.sum_near(
            self.rows, spans, range_from, ranges, self.sources, coefficients, [tuple(f) for f in self.forms], out
        )

    def _moments(self, coefficients: np.ndarray) -> dict[int, np.ndarray]:
        d, moments = self.request.dimension, {}
        for number in sorted(self.levels, reverse=True):
            moments[number] = self._room(number, coefficients.shape[1])
            if number + 1 in moments:
                self.up[number + 1].add(moments[number + 1], moments[number])
            places = self._boxes_with_points(number, self.boxes.source_spans)
            _native.add_moments(self.sources, *places, d, self.levels[number].degree, coefficients, moments[number])
        return moments

    def _across(self, moments: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
        local = {}
        for number, own in moments.items():
            local[number] = np.zeros_like(own)
            if number in self.across:
                small = np.zeros(own.shape[:2] + (self.levels[number].compress.shape[2],))
                self.squeeze[number].add(own, small)
                seen = np.zeros_like(small)
                self.across[number].add(small, seen)
                self.stretch[number].add(seen, local[number])
        return local

    def _read(self, local: dict[int, np.ndarray], out: np.ndarray) -> None:
        for number in sorted(self.levels):
            if number - 1 in local:
                self.down[number].add(local[number - 1], local[number])
            places = self._boxes_with_points(number, self.boxes.target_spans)
            degree = self.levels[number].degree
            _native.read_series(self.targets, *places, self.request.dimension, degree, local[number], out)
