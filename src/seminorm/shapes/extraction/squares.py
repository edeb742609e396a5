"""Marching squares: the zero set of a shape in the plane, as lines, from cells that become finer near it only."""

from __future__ import annotations

import numpy as np

from ..contours import Contours
from ..implicit import Implicit
from ..meshing import Bounds

_COARSE = 128  # cells along the longest side that are all looked at
_NEAR = 1.0  # diagonals of a cell, within which a value at its corner says that the line may pass
_MOST_CELLS = 2**40
_STEP = 1.0  # cells that a vertex may move when it is refined

# edges of a cell: 0 bottom, 1 right, 2 top, 3 left; corners: bit 0 (0, 0), 1 (1, 0), 2 (1, 1), 3 (0, 1)
_EDGE_CORNERS = np.array([[0, 1], [1, 2], [3, 2], [0, 3]])
_CORNERS = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
# pieces for each set of corners inside, from edge to edge, the inside on the left; 16, 17: both ways through a saddle
_PIECES: dict[int, list[tuple[int, int]]] = {
    1: [(0, 3)], 2: [(1, 0)], 3: [(1, 3)], 4: [(2, 1)], 6: [(2, 0)], 7: [(2, 3)], 8: [(3, 2)], 9: [(0, 2)],
    11: [(1, 2)], 12: [(3, 1)], 13: [(0, 1)], 14: [(3, 0)],
    5: [(0, 3), (2, 1)], 10: [(1, 0), (3, 2)],  # the middle is outside
    16: [(0, 1), (2, 3)], 17: [(3, 0), (1, 2)],  # the middle is inside
}  # fmt: skip


def contour(
    shape: Implicit,
    bounds: Bounds,
    resolution: float,
    *,
    seeds: np.ndarray | None = None,
    closed: bool = True,
    refine: int = 2,
) -> Contours:
    """The zero set of a shape in the plane within bounds.

    Parameters
    ----------
    shape : Implicit, of two dimensions
    bounds : pair of points (low, high)
    resolution : float
        Side of the finest cells.
    seeds : array (n, 2), optional
        Places around which cells become finest, whatever the function says there.
    closed : bool
        Whether lines are closed along the border of the bounds.
    refine : int
        Newton steps that bring each point onto the zero set.

    Returns
    -------
    Contours, with the normals of the shape

    Examples
    --------
    >>> from seminorm.shapes import Sphere
    >>> from seminorm.shapes.extraction.squares import contour
    >>> circle = contour(Sphere([0, 0], 1), ([-2, -2], [2, 2]), 0.02)
    >>> round(circle.length, 3), round(circle.area, 3)
    (6.283, 3.141)
    """
    lattice = _Lattice(shape, bounds, resolution, closed)
    cells = lattice.refined(seeds)
    points, ends = lattice.pieces(cells, refine)
    lines, is_closed = _linked(ends)
    rows = np.concatenate(lines) if lines else np.zeros(0, dtype=np.int64)
    gradients = shape.gradient(points[rows]) if len(rows) else np.zeros((0, 2))
    normals = gradients / np.maximum(np.linalg.norm(gradients, axis=1, keepdims=True), 1e-300)
    return Contours([points[line] for line in lines], is_closed, normals)


class _Lattice:
    """Corners of cells, numbered on the finest level."""

    def __init__(self, shape: Implicit, bounds: Bounds, resolution: float, closed: bool):
        self.shape, self.closed = shape, closed
        low, high = (np.asarray(corner, dtype=float) for corner in bounds)
        finest = np.maximum(np.ceil((high - low) / resolution), 1)
        self.level = max(int(np.ceil(np.log2(max(finest.max() / _COARSE, 1)))), 0)
        self.coarse = np.maximum(np.ceil(finest / 2**self.level), 1).astype(np.int64)
        self.size = self.coarse << self.level
        if self.size.prod() > _MOST_CELLS:
            raise ValueError(f"resolution={resolution:.3g} makes too many cells: give a larger one.")
        self.low, self.width = low, resolution
        middle = (low + high) / 2
        self.low = middle - self.size * resolution / 2

    def places(self, corners: np.ndarray) -> np.ndarray:
        """Coordinates of corners (m, 2)."""
        return self.low + corners * self.width

    def values(self, corners: np.ndarray) -> np.ndarray:
        """The function at corners; positive on the border if lines are to be closed there."""
        found = self.shape(self.places(corners))
        found = np.where(found == 0.0, np.finfo(float).tiny, found)
        if self.closed:
            found = np.where(self.on_border(corners), np.maximum(np.abs(found), 1e-3 * self.width), found)
        return found

    def on_border(self, corners: np.ndarray) -> np.ndarray:
        """Whether corners lie on the border."""
        return ((corners == 0) | (corners == self.size)).any(axis=1)

    def refined(self, seeds: np.ndarray | None) -> np.ndarray:
        """The finest cells (m, 2), by their lower corner, that the zero set may pass."""
        cells = np.stack(np.meshgrid(*map(np.arange, self.coarse), indexing="ij"), axis=-1).reshape(-1, 2) << self.level
        sown = np.zeros((0, 2), dtype=np.int64)
        if seeds is not None:
            sown = np.floor((seeds - self.low) / self.width).astype(np.int64)
            sown = sown[((sown >= 0) & (sown < self.size)).all(axis=1)]
        for level in range(self.level, 0, -1):
            values = self._at_corners(cells, 1 << level)[0]
            near = np.abs(values).min(axis=1) <= _NEAR * np.sqrt(2) * self.width * 2**level
            kept = near | (values.min(axis=1) < 0) & (values.max(axis=1) > 0)
            cells = _unique(np.concatenate([cells[kept], sown >> level << level]))
            half = (1 << (level - 1)) * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
            cells = (cells[:, None] + half).reshape(-1, 2)
        return cells

    def _at_corners(self, cells: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
        """Values at the four corners of cells (m, 4), and the corners (m, 4, 2)."""
        corners = cells[:, None] + width * _CORNERS
        keys = corners[..., 0] * (self.size[1] + 1) + corners[..., 1]
        known, place = np.unique(keys, return_inverse=True)
        values = self.values(np.column_stack(np.divmod(known, self.size[1] + 1)))
        return values[place.reshape(keys.shape)], corners

    def pieces(self, cells: np.ndarray, refine: int) -> tuple[np.ndarray, np.ndarray]:
        """Points on the edges of cells, and pieces of lines between them (m, 2)."""
        values, corners = self._at_corners(cells, 1)
        case = ((values < 0) << np.arange(4)).sum(axis=1)
        saddle = np.flatnonzero((case == 5) | (case == 10))
        middle = self.shape(self.places(cells[saddle] + 0.5)) if len(saddle) else np.zeros(0)
        case[saddle[middle < 0]] = 16 + (case[saddle[middle < 0]] == 10)
        keys, ends = [], []
        for code, pieces in _PIECES.items():
            rows = np.flatnonzero(case == code)
            for piece in pieces:
                for edge in piece:
                    first, second = _EDGE_CORNERS[edge]
                    here, there = corners[rows, first], corners[rows, second]
                    axis = (there - here)[:, 1]  # 0 along x, 1 along y
                    keys.append((here[:, 0] * (self.size[1] + 1) + here[:, 1]) * 2 + axis)
                    ends.append(np.stack([here, there, values[rows][:, [first, second]]], axis=1))
        if not keys:
            return np.zeros((0, 2)), np.zeros((0, 2), dtype=np.int64)
        key, end = np.concatenate(keys), np.concatenate(ends)
        _, first, place = np.unique(key, return_index=True, return_inverse=True)
        points = self._crossed(end[first], refine)
        at, found = 0, []
        for begin, _ in zip(keys[::2], keys[1::2], strict=True):
            m = len(begin)
            found.append(np.column_stack([place[at : at + m], place[at + m : at + 2 * m]]))
            at += 2 * m
        return points, np.concatenate(found)

    def _crossed(self, ends: np.ndarray, refine: int) -> np.ndarray:
        """Where edges, as their two ends and the values there (m, 3, 2), meet the zero set."""
        here, there, values = ends[:, 0], ends[:, 1], ends[:, 2]
        share = values[:, 0] / (values[:, 0] - values[:, 1])
        points = self.places(here + share[:, None] * (there - here))
        capped = self.closed & (self.on_border(here) | self.on_border(there))
        free = np.flatnonzero(~capped)
        for _ in range(refine if len(free) else 0):
            value, slope = self.shape.jet(points[free], 1)
            step = value[:, None] * slope / np.maximum((slope**2).sum(axis=1, keepdims=True), 1e-300)
            length = np.linalg.norm(step, axis=1, keepdims=True)
            points[free] -= step * np.minimum(1.0, _STEP * self.width / np.maximum(length, 1e-300))
        return points


def _unique(cells: np.ndarray) -> np.ndarray:
    return np.unique(cells, axis=0)


def _linked(pieces: np.ndarray) -> tuple[list[np.ndarray], list[bool]]:
    """Lines as rows of points, from pieces (m, 2) that follow each other; which of them are closed."""
    after = dict(pieces.tolist())
    starts = sorted(set(after) - set(after.values()))
    lines, closed = [], []
    while after:
        start = starts.pop(0) if starts else next(iter(after))
        line = [start]
        while (here := after.pop(line[-1], None)) is not None:
            line.append(here)
        is_closed = line[-1] == start
        lines.append(np.array(line[:-1] if is_closed else line))
        closed.append(is_closed)
    return lines, closed
