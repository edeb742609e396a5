"""Where a field still needs finer functions: an analysis of variance of its residuals in every block of cells.

If the field follows the data up to noise, residuals of neighbouring points are independent: their means over small
cells vary as much as the scatter within the cells predicts. If the functions are too wide for the data, residuals of
neighbours agree, and the means vary more. The ratio of the two is an F statistic; it needs no noise level.
"""

from __future__ import annotations

import numpy as np

from . import _numba as loops
from .field import Field
from .sources import Chunk, Observations, prepare

_SIGNIFICANT = 3.0
_OCCUPANCY = 0.25


class Residuals:
    """Sums of residuals over the cells of a tree's finest level, and over their 2**d parts; an accumulator."""

    def __init__(self, field: Field, columns: int):
        tree = field.tree
        self.field = field
        own = tree.blocks(tree.depth)
        blocks, cells, d = own.stop - own.start, tree.layout.side**tree.box.dimension, tree.box.dimension
        self._sums = np.zeros((blocks, cells * 2**d, columns))
        self._weights = np.zeros((blocks, cells * 2**d, columns))
        self._squares = np.zeros((blocks, cells))
        self.number = np.zeros((blocks, cells), dtype=np.int64)

    def add(self, chunk: Observations, first: int) -> None:
        """Add the residuals of a chunk."""
        tree = self.field.tree
        ready = prepare(chunk, tree.box, self.field.offset)
        block, cell = tree.locate(ready.points)
        order, start = loops.sort_by_block(block, len(tree.coords))
        residuals = ready.observations[:, :, 0] - _fitted(self.field, ready)
        loops.add_residuals(
            residuals, ready.weights, ready.points, order, start, tree.level_start[tree.depth], cell, 2.0**tree.depth,
            self.number, self._sums, self._weights, self._squares,
        )  # fmt: skip

    def merge(self, other: Residuals) -> None:
        """Add the sums over later chunks."""
        for name in ("_sums", "_weights", "_squares", "number"):
            getattr(self, name).__iadd__(getattr(other, name))

    def structured(self, negligible: float) -> np.ndarray:
        """Blocks whose residuals agree among neighbours more than noise does, at the scale of cells or of their
        parts, and whose mean square is not ``negligible``.

        Blocks with hardly more than one point in a cell are as fine as the sampling, and not among them.
        """
        blocks, cells = self._squares.shape
        shape = (blocks, cells, -1, self._sums.shape[2])
        found = np.zeros(blocks, dtype=bool)
        for sums, weights in (
            (self._sums, self._weights),
            (self._sums.reshape(shape).sum(axis=2), self._weights.reshape(shape).sum(axis=2)),
        ):
            means = np.divide(sums**2, weights, out=np.zeros_like(sums), where=weights > 0).sum(axis=(1, 2))
            groups = np.count_nonzero(weights, axis=(1, 2))
            freedom = self.number.sum(axis=1) - groups
            found |= _exceeds(means, groups, self._squares.sum(axis=1) - means, freedom)
        number = self.number.sum(axis=1)
        return found & self.dense() & (self._squares.sum(axis=1) > negligible * number)

    def dense(self) -> np.ndarray:
        """Blocks with more than about one point in an occupied cell."""
        cells = np.count_nonzero(self.number, axis=1)
        return self.number.sum(axis=1) > (1 + _OCCUPANCY) * self._sums.shape[2] * cells


def residuals_of(field: Field, observations: Observations) -> tuple[np.ndarray, np.ndarray]:
    """Observed minus fitted, and the weights, a column for each number observed at a point."""
    ready = prepare(observations, field.tree.box, field.offset)
    return ready.observations[:, :, 0] - _fitted(field, ready), ready.weights


def _fitted(field: Field, chunk: Chunk) -> np.ndarray:
    """What a field without its offset has for the numbers observed, by scaled coordinates."""
    parts = []
    if chunk.first[0] >= 0:
        parts.append(field.derivatives(chunk.points, [()]))
    if chunk.first[1] >= 0:
        slopes = [(axis,) for axis in range(field.dimension)]
        parts.append(field.derivatives(chunk.points, slopes) * field.tree.box.scale)
    return np.concatenate(parts, axis=1)


def _exceeds(between: np.ndarray, groups: np.ndarray, within: np.ndarray, freedom: np.ndarray) -> np.ndarray:
    """Whether between / groups is larger than within / freedom by more than chance."""
    known = (groups > 0) & (freedom > 0)
    groups, freedom = np.maximum(groups, 1), np.maximum(freedom, 1)
    deviation = np.sqrt(2 / groups + 2 / freedom)
    return known & (between / groups > (1 + _SIGNIFICANT * deviation) * np.maximum(within, 0.0) / freedom)
