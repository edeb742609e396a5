"""Windows of scattered data: dense parts of it, on grids about as fine as the points."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..bases.box import GridBox
from ..bases.grid import GridBasis

_CELLS = {1: (4096, 4096), 2: (48, 128), 3: (8, 8)}  # along an axis of a window: at least, at most
_SHARE = 0.28  # of the root of the number of points
_NUMBER = {1: 3, 2: 3, 3: 1}
MARGIN = {1: 0.25, 2: 0.1, 3: 0.25}  # of a window, beyond its points
_PER_CELL = 0.5  # points in a cell of the densest window
_DEEPEST = {1: 40, 2: 26, 3: 18}
DEGREE = 2


class Window(NamedTuple):
    """Points X (n, d) with values y (n,), or (n, k) for k outputs, and weights w, in a basis; ``design`` (n, size) has
    the functions at the points.
    """

    basis: GridBasis
    X: np.ndarray
    design: sparse.csr_array
    y: np.ndarray
    w: np.ndarray


class _Corners(NamedTuple):
    """Corners of windows of ``size`` cells of a side ``spacing``, those with the most points first, and how many points
    the first has in a cell.
    """

    spacing: float
    size: np.ndarray
    corners: list[np.ndarray]
    density: float


def windows_of(X: np.ndarray, y: np.ndarray, w: np.ndarray, least: float = 0.0) -> list[Window]:
    """At most three disjoint windows (in space one) of equal size with the most points, or all points in one if they
    are few.

    Cells are the longest side of the data, halved until a cell of a window has about one point, or until the side is
    ``least``. The values have no mean over a window.
    """
    low, extent = X.min(axis=0), np.ptp(X, axis=0)
    found = _corners(X - low, extent, 0)
    for level in range(1, _DEEPEST[X.shape[1]]):
        finer = _corners(X - low, extent, level)
        if finer.density < _PER_CELL or finer.spacing < (1.0 - 1e-9) * least:
            break
        found = finer
    return [_window(X, y, w, low + corner * found.spacing, found) for corner in found.corners]


def _corners(X: np.ndarray, extent: np.ndarray, level: int) -> _Corners:
    spacing = float(extent.max()) / 2.0**level
    cells = np.maximum(np.ceil(extent / spacing - 1e-9).astype(np.int64), 1)
    size = np.minimum(cells, int(np.clip(_SHARE * np.sqrt(len(X)), *_CELLS[X.shape[1]])))
    corners, number = _densest(np.minimum((X / spacing).astype(np.int64), cells - 1), cells, size)
    return _Corners(spacing, size, corners, number / float(size.prod()))


def _densest(places: np.ndarray, cells: np.ndarray, size: np.ndarray) -> tuple[list[np.ndarray], int]:
    """Corners of disjoint windows, those with the most points among windows moved by half their size, and the number in
    the first.
    """
    if (size == cells).all():
        return [np.zeros(len(size), dtype=np.int64)], len(places)
    step = np.maximum(size // 2, 1)
    counts: dict[tuple[int, ...], int] = {}
    grid = cells // step + 1
    keys, numbers = np.unique(np.ravel_multi_index(tuple((places // step).T), grid), return_counts=True)
    halves = np.stack(np.unravel_index(keys, grid), axis=-1)
    for half, number in zip(halves, numbers, strict=True):
        for shift in product((0, 1), repeat=len(size)):
            corner = tuple((half - shift).tolist())
            counts[corner] = counts.get(corner, 0) + int(number)
    chosen: list[np.ndarray] = []
    for corner in sorted(counts, key=lambda corner: (-counts[corner], corner)):
        place = np.clip(np.array(corner) * step, 0, cells - size)
        if len(chosen) < _NUMBER[len(size)] and all((abs(place - other) >= size).any() for other in chosen):
            chosen.append(place)
    return chosen, max(counts.values())


def _window(X: np.ndarray, y: np.ndarray, w: np.ndarray, low: np.ndarray, found: _Corners) -> Window:
    d, size, spacing = len(low), found.size, found.spacing
    border = max(2, round(MARGIN[d] * int(size.max())))
    basis = GridBasis(GridBox(low - border * spacing, np.ones(d), spacing, size + 2 * border), DEGREE)
    inside = ((low - 1e-9 * spacing <= X) & (low + (size + 1e-9) * spacing >= X)).all(axis=1)
    X, y, w = X[inside], y[inside], w[inside]
    return Window(basis, X, basis.values(X), y - np.average(y, axis=0, weights=w), w)
