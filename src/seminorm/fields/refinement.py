"""Where a field still needs finer functions: do the residuals of neighbouring points agree?

If the field follows the data up to noise, the residuals of neighbours are independent, and the mean square of their
differences is twice that of the residuals. If the functions are too wide for the data, neighbours agree, and their
differences are smaller (von Neumann's ratio). The test needs no noise level, and sees structure of any size above the
distance of the points.
"""

from __future__ import annotations

import numpy as np

from . import _numba as loops
from .field import Field
from .sources import Chunk, Observations, prepare

_SIGNIFICANT = 3.0
_OCCUPANCY = 0.25
_CROWD = 8
_FILLED = 0.1


class Residuals:
    """Sums of residuals and of differences of neighbours in the blocks of a tree's finest level; an accumulator."""

    def __init__(self, field: Field):
        tree = field.tree
        self.field = field
        own = tree.blocks(tree.depth)
        blocks = own.stop - own.start
        self._squares, self._jumps = np.zeros(blocks), np.zeros(blocks)
        self._pairs = np.zeros(blocks, dtype=np.int64)
        self._columns = 1
        self.number = np.zeros((blocks, tree.layout.side**tree.box.dimension), dtype=np.int64)

    def add(self, chunk: Observations, first: int) -> None:
        """Add the residuals of a chunk; neighbours are sought within the chunk."""
        tree = self.field.tree
        residuals, weights, points = residuals_of(self.field, chunk)
        self._columns = residuals.shape[1]
        used = (weights > 0).any(axis=1)
        points = np.ascontiguousarray(points[used])
        block, cell = tree.locate(points)
        order, start = loops.sort_by_block(block, len(tree.coords))
        loops.add_residuals(
            np.sqrt(weights[used]) * residuals[used], points, order, start, tree.level_start[tree.depth], cell,
            tree.links, tree.layout.side, self.number, self._squares, self._jumps, self._pairs,
        )  # fmt: skip

    def merge(self, other: Residuals) -> None:
        """Add the sums over later chunks."""
        for name in ("_squares", "_jumps", "_pairs", "number"):
            getattr(self, name).__iadd__(getattr(other, name))
        self._columns = max(self._columns, other._columns)

    def structured(self, negligible: float) -> np.ndarray:
        """Blocks whose neighbouring residuals agree more than noise does, whose mean square is not ``negligible``,
        and which have more than about one point in a cell (others are as fine as the sampling).
        """
        number = np.maximum(self.number.sum(axis=1) * self._columns, 1)
        pairs = np.maximum(self._pairs * self._columns, 1)
        expected = self._squares / number
        threshold = 1 - _SIGNIFICANT / np.sqrt(
            pairs
        )  # the ratio has mean 1 and variance 1 / n for independent residuals
        structured = (expected > negligible) & (self._jumps / pairs < threshold * expected)
        return structured & self.dense() & ~self._lines()

    def _lines(self) -> np.ndarray:
        """Blocks with few points in a cell that fill few of the cells, as along the track of a ship: finer functions
        would follow the line and know nothing beside it.
        """
        cells = np.count_nonzero(self.number, axis=1)
        return (self.number.sum(axis=1) < _CROWD * cells) & (cells < _FILLED * self.number.shape[1])

    def dense(self) -> np.ndarray:
        """Blocks with more than about one point in an occupied cell."""
        return self.number.sum(axis=1) > (1 + _OCCUPANCY) * np.count_nonzero(self.number, axis=1)


def residuals_of(field: Field, observations: Observations) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Observed minus fitted and the weights, a column for each number observed at a point; and the points in cells."""
    ready = prepare(observations, field.tree.box, field.offset)
    return ready.observations[:, :, 0] - _fitted(field, ready), ready.weights, ready.points


def _fitted(field: Field, chunk: Chunk) -> np.ndarray:
    """What a field without its offset has for the numbers observed, by scaled coordinates."""
    parts = []
    if chunk.first[0] >= 0:
        parts.append(field.derivatives(chunk.points, [()]))
    if chunk.first[1] >= 0:
        slopes = [(axis,) for axis in range(field.dimension)]
        parts.append(field.derivatives(chunk.points, slopes) * field.tree.box.scale)
    return np.concatenate(parts, axis=1)
