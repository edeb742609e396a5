"""Compiled loops of the image distortion distance: one image against sixteen others side by side.

A row of an image is a row of numbers in which those of sixteen images take turns, so that every loop runs along it.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

LANES = 16


@njit(cache=True, parallel=True)
def cross_distances(A: np.ndarray, B: np.ndarray, reach: int, context: int, upper: bool, out: np.ndarray) -> None:
    """Mean squared cost of both directions, out[i, j].

    A is (n, channels, h + 2b, w + 2b), b = reach + context being the border; B is (m / 16, channels, h + 2b, 16 (w +
    2b)). With ``upper`` only what lies above the diagonal is computed.
    """
    n, m = out.shape
    channels, height, width = A.shape[1:]
    h, w = height - 2 * (reach + context), width - 2 * (reach + context)
    for turn in prange(n):
        i = turn // 2 if turn % 2 == 0 else n - 1 - turn // 2  # long and short rows take turns
        own = np.empty((channels, height, width * LANES), dtype=np.float32)
        for k in range(channels):
            for r in range(height):
                for c in range(width):
                    own[k, r, c * LANES : (c + 1) * LANES] = A[i, k, r, c]
        forth = np.empty((h, w * LANES), dtype=np.float32)
        back = np.empty((h, w * LANES), dtype=np.float32)
        points = np.empty((h + 2 * context, (w + 2 * context) * LANES), dtype=np.float32)
        column = np.empty((w + 2 * context) * LANES, dtype=np.float32)
        row = np.empty(w * LANES, dtype=np.float32)
        sums = np.empty(LANES)
        for block in range((i + 1) // LANES if upper else 0, len(B)):
            _both_ways(own, B[block], reach, context, forth, back, points, column, row)
            sums[:] = 0.0
            for r in range(h):
                for c in range(w):
                    for lane in range(LANES):
                        sums[lane] += np.float64(forth[r, c * LANES + lane]) + np.float64(back[r, c * LANES + lane])
            for lane in range(LANES):
                j = block * LANES + lane
                if j < m and (j > i or not upper):
                    out[i, j] = 0.5 * sums[lane]


@njit(cache=True)
def _both_ways(a, b, reach, context, forth, back, points, column, row) -> None:
    """Least costs of the pixels of either image, over all displacements."""
    h, w = len(forth), forth.shape[1] // LANES
    forth[:] = np.float32(np.inf)
    back[:] = np.float32(np.inf)
    for dy in range(-reach, reach + 1):
        for dx in range(-reach, reach + 1):
            for r in range(len(points)):
                _differences(a, b, r + reach, dy, reach * LANES, dx * LANES, points[r])
            for r in range(max(0, -dy), min(h, h - dy)):
                _add_up(points[r : r + 2 * context + 1], column)
                _slide(column, context, row)
                first, last = max(0, -dx) * LANES, min(w, w - dx) * LANES
                _lower(forth[r, first:last], row[first:last])
                _lower(back[r + dy, first + dx * LANES : last + dx * LANES], row[first:last])


@njit(cache=True)
def _differences(a, b, r, dy, start, dx, squares) -> None:
    """Squared differences of row r of a and the displaced one of b, summed over the channels."""
    squares[:] = 0.0
    for k in range(len(a)):  # (whole arrays come in: a loop runs fast along rows that are known to be contiguous)
        one, other = a[k, r, start : start + len(squares)], b[k, r + dy, start + dx : start + dx + len(squares)]
        for q in range(len(squares)):
            squares[q] += (one[q] - other[q]) * (one[q] - other[q])


@njit(cache=True)
def _add_up(rows, total) -> None:
    total[:] = rows[0]
    for k in range(1, len(rows)):
        row = rows[k]
        for q in range(len(total)):
            total[q] += row[q]


@njit(cache=True)
def _slide(column, context, total) -> None:
    """Sums over 2 context + 1 neighbouring pixels of a row."""
    total[:] = column[: len(total)]
    for k in range(1, 2 * context + 1):
        part = column[k * LANES : k * LANES + len(total)]
        for q in range(len(total)):
            total[q] += part[q]


@njit(cache=True)
def _lower(least, costs) -> None:
    for q in range(len(least)):
        least[q] = costs[q] if costs[q] < least[q] else least[q]
