"""Where a field still needs finer functions: do the residuals of neighbouring points agree?

If the field follows the data up to noise, the residuals of neighbours are independent, and the mean square of their
differences is twice that of the residuals. If the functions are too wide for the data, neighbours agree, and their
differences are smaller (von Neumann's ratio). The test needs no noise level, and sees structure of any size above the
distance of the points.
"""

from __future__ import annotations

import numpy as np

from .. import _native
from ..functions.functionals import ObservedFunctionals
from .field import Field
from .functional_rows import cell_shares
from .sources import Chunk, Observations, prepare
from .vector_field import VectorField

_SIGNIFICANT = 3.0
_OCCUPANCY = 0.25
_CROWD = 8
_FILLED = 0.1


class Residuals:
    """Sums of residuals and of differences of neighbours in the blocks of a tree's finest level; an accumulator."""

    def __init__(self, field: Field | VectorField):
        tree = field.tree
        self.field = field
        own = tree.blocks(tree.depth)
        blocks = own.stop - own.start
        self._squares, self._jumps = np.zeros(blocks), np.zeros(blocks)
        self._pairs = np.zeros(blocks, dtype=np.int64)
        self._columns = 1
        self.number = np.zeros((blocks, tree.layout.side**tree.box.dimension), dtype=np.int64)
        self._shares = np.zeros(self.number.shape)

    def add(self, chunk: Observations, first: int) -> None:
        """Add the residuals of a chunk; neighbours are sought within the chunk."""
        tree = self.field.tree
        residuals, weights, points = residuals_of(self.field, chunk)
        self._columns = residuals.shape[1]
        used = (weights > 0).any(axis=1)
        points = np.ascontiguousarray(points[used])
        block, cell = tree.locate(points)
        order, start = tree.sort_by_block(block)
        _native.add_residuals(
            tree.links, np.sqrt(weights[used]) * residuals[used], points, order, start, tree.level_start[tree.depth],
            cell, self.number, self._squares, self._jumps, self._pairs,
        )  # fmt: skip

    def merge(self, other: Residuals) -> None:
        for name in ("_squares", "_jumps", "_pairs", "number"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self._columns = max(self._columns, other._columns)

    def add_functionals(self, observed: ObservedFunctionals) -> None:
        """Add functionals, after all chunks: only how many there are in each cell."""
        tree = self.field.tree
        self._shares += cell_shares(observed.functional, tree)[tree.blocks(tree.depth)]

    @property
    def occupied(self) -> np.ndarray:
        """Cells with points or functionals."""
        return (self.number > 0) | (self._shares > 0)

    def structured(self, negligible: float) -> np.ndarray:
        """Blocks whose neighbouring residuals agree more than noise does, or that hold several functionals."""
        number = np.maximum(self.number.sum(axis=1) * self._columns, 1)
        pairs = np.maximum(self._pairs * self._columns, 1)
        expected = self._squares / number
        # the ratio has mean 1 and variance 1 / n for independent residuals
        threshold = 1 - _SIGNIFICANT / np.sqrt(pairs)
        structured = (expected > negligible) & (self._jumps / pairs < threshold * expected)
        crowded = self._shares.sum(axis=1) > (1 + _OCCUPANCY) * np.count_nonzero(self._shares, axis=1)
        return (structured & self.dense() & ~self._lines()) | crowded

    def remain(self, negligible: float) -> np.ndarray:
        """Blocks that the field does not follow exactly already."""
        number = np.maximum(self.number.sum(axis=1) * self._columns, 1)
        return (self._squares / number > negligible) | (self._shares.sum(axis=1) > 0)

    def _lines(self) -> np.ndarray:
        """Blocks of sparse points on a line, as the track of a ship: finer functions would know nothing beside it."""
        cells = np.count_nonzero(self.number, axis=1)
        return (self.number.sum(axis=1) < _CROWD * cells) & (cells < _FILLED * self.number.shape[1])

    def dense(self) -> np.ndarray:
        """Blocks with more than about one point or functional in an occupied cell."""
        count = self.number.sum(axis=1) + self._shares.sum(axis=1)
        return count > (1 + _OCCUPANCY) * np.count_nonzero(self.occupied, axis=1)


class SquaredErrors:
    """Weighted sum of squared errors of a field; an accumulator."""

    def __init__(self, field: Field | VectorField):
        self.field, self._errors, self._weights = field, 0.0, 0.0

    def add(self, chunk: Observations, first: int) -> None:
        residuals, weights, _ = residuals_of(self.field, chunk)
        self._errors += float((weights * residuals**2).sum())
        self._weights += float(weights.sum())

    def add_functionals(self, observed: ObservedFunctionals) -> None:
        targets = observed.targets
        residuals = targets - observed.functional.apply(self.field).reshape(targets.shape)
        self._errors += float((observed.weights[:, None] * residuals**2).sum())
        self._weights += float(observed.weights.sum()) * targets.shape[1]

    def merge(self, other: SquaredErrors) -> None:
        self._errors += other._errors
        self._weights += other._weights

    @property
    def mean(self) -> float:
        """Weighted mean of the squared errors."""
        return self._errors / self._weights


def residuals_of(field: Field | VectorField, observations: Observations) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Observed minus fitted and the weights, one column per number observed at a point; and the points in cells."""
    ready = prepare(observations, field.tree.box, field.offset)
    parts = enumerate(field.components)
    residuals = [ready.observations[:, :, k] - _fitted(component, ready) for k, component in parts]
    return np.concatenate(residuals, axis=1), np.tile(ready.weights, len(residuals)), ready.points


def _fitted(field: Field, chunk: Chunk) -> np.ndarray:
    """What a field without its offset has for the numbers observed, by scaled coordinates."""
    parts = []
    if chunk.first[0] >= 0:
        parts.append(field.derivatives(chunk.points, [()]))
    if chunk.first[1] >= 0:
        slopes: list[tuple[int, ...]] = [(axis,) for axis in range(field.dimension)]
        parts.append(field.derivatives(chunk.points, slopes))
    return np.concatenate(parts, axis=1)
