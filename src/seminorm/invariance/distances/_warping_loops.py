"""Compiled loops of the warping distances: one series against eight others side by side, four samples at a time.

The table of the recursion has a row for each sample of the one series and a column for each sample of the others. A
cell needs only cells to its left and above, so shorter series among the eight are filled up at their ends and read at
their own last column. Which of two series has the rows makes no difference to any bit.
"""

import numpy as np
from numba import njit, prange

from ._lanes import LANES, add, larger, load, smallest, splat, squared_difference, store


@njit(cache=True, inline="always")
def _cell(cost, above, left, diagonal, largest):
    """Sum (or, if ``largest`` is not None, maximum) of a cell's cost and the cheapest way to it."""
    best = smallest(above, diagonal, left)
    if largest is None:
        return add(cost, best)
    return larger(cost, best)


@njit(cache=True)
def _four_rows(x, i, x0, x1, x2, x3, others, above, lefts, first, last, largest):
    """Columns first to last - 1 of rows i to i + 3.

    ``above`` has row i - 1 and gets row i + 3, one column further right; ``lefts`` the column before the first, of rows
    i - 1 to i + 3, and gets the last. ``x0`` to ``x3`` is the first channel of x, or infinity where the row is outside
    the window.
    """
    channels = x.shape[1]
    here0, here1, here2, here3 = splat(x0), splat(x1), splat(x2), splat(x3)
    diagonal, left0, left1 = load(lefts, 0), load(lefts, LANES), load(lefts, 2 * LANES)
    left2, left3 = load(lefts, 3 * LANES), load(lefts, 4 * LANES)
    for j in range(first, last):
        there = load(others, j * channels * LANES)
        cost0, cost1 = squared_difference(here0, there), squared_difference(here1, there)
        cost2, cost3 = squared_difference(here2, there), squared_difference(here3, there)
        for c in range(1, channels):
            there = load(others, (j * channels + c) * LANES)
            cost0 = add(cost0, squared_difference(splat(x[i, c]), there))
            cost1 = add(cost1, squared_difference(splat(x[i + 1, c]), there))
            cost2 = add(cost2, squared_difference(splat(x[i + 2, c]), there))
            cost3 = add(cost3, squared_difference(splat(x[i + 3, c]), there))
        up = load(above, (j + 1) * LANES)
        value0 = _cell(cost0, up, left0, diagonal, largest)
        value1 = _cell(cost1, value0, left1, left0, largest)
        value2 = _cell(cost2, value1, left2, left1, largest)
        value3 = _cell(cost3, value2, left3, left2, largest)
        store(above, (j + 1) * LANES, value3)
        diagonal, left0, left1, left2, left3 = up, value0, value1, value2, value3
    store(lefts, 0, diagonal)
    store(lefts, LANES, left0)
    store(lefts, 2 * LANES, left1)
    store(lefts, 3 * LANES, left2)
    store(lefts, 4 * LANES, left3)


@njit(cache=True)
def _four_rows_in_window(x, i, others, above, lefts, length, window, largest):
    """Rows i to i + 3: the columns that all of them have at once, those at the ends one by one."""
    begin, end = max(0, i - window), min(length, i + window + 4)
    whole_begin = min(max(begin, i + 3 - window), end)
    whole_end = max(whole_begin, min(end, i + window + 1))
    lefts[:] = np.inf
    lefts[:LANES] = above[begin * LANES : (begin + 1) * LANES]
    above[:LANES] = np.inf
    j = begin
    while j < end:
        if j == whole_begin and whole_end > whole_begin:
            a, b, c, d = x[i, 0], x[i + 1, 0], x[i + 2, 0], x[i + 3, 0]
            stop = whole_end
        else:
            a = x[i, 0] if abs(i - j) <= window else np.inf
            b = x[i + 1, 0] if abs(i + 1 - j) <= window else np.inf
            c = x[i + 2, 0] if abs(i + 2 - j) <= window else np.inf
            d = x[i + 3, 0] if abs(i + 3 - j) <= window else np.inf
            stop = j + 1
        _four_rows(x, i, a, b, c, d, others, above, lefts, j, stop, largest)
        j = stop


@njit(cache=True)
def _one_row(x, i, others, above, length, window, largest):
    channels = x.shape[1]
    begin, end = max(0, i - window), min(length, i + window + 1)
    left, diagonal = splat(np.inf), load(above, begin * LANES)
    store(above, 0, left)
    for j in range(begin, end):
        cost = squared_difference(splat(x[i, 0]), load(others, j * channels * LANES))
        for c in range(1, channels):
            cost = add(cost, squared_difference(splat(x[i, c]), load(others, (j * channels + c) * LANES)))
        up = load(above, (j + 1) * LANES)
        left = _cell(cost, up, left, diagonal, largest)
        store(above, (j + 1) * LANES, left)
        diagonal = up


@njit(cache=True)
def _table(x, others, above, lefts, length, window, largest):
    """The last row of the table, in ``above``, one column further right."""
    above[:] = np.inf
    above[:LANES] = 0.0
    rows = x.shape[0]
    i = 0
    while i + 4 <= rows:
        _four_rows_in_window(x, i, others, above, lefts, length, window, largest)
        i += 4
    while i < rows:
        _one_row(x, i, others, above, length, window, largest)
        i += 1


@njit(cache=True)
def _side_by_side(values, starts, series, length):
    """Series as (length, channels, LANES), flat; filled up with zeros."""
    channels = values.shape[1]
    others = np.zeros((length, channels, LANES))
    for k in range(series.size):
        start = starts[series[k]]
        for j in range(starts[series[k] + 1] - start):
            for c in range(channels):
                others[j, c, k] = values[start + j, c]
    return others.reshape(-1)


@njit(cache=True, inline="always")
def _half_width(window, share, length, other):
    return np.int64(np.rint(share * max(length, other))) if share >= 0 else window


@njit(cache=True, parallel=True)
def warp(
    values, starts, order, other_values, other_starts, other_order, symmetric, blocks, window, share, largest, out
):
    """Squared distances of all series to those of the given blocks of eight of ``other_order``.

    ``symmetric``: both lists are the same, pairs up to the diagonal are computed and both halves written.
    ``share`` >= 0 is the window as part of the longer length, otherwise ``window`` counts.
    """
    for b in prange(blocks.size):
        first = blocks[b] * LANES
        series = other_order[first : first + LANES]
        lengths = other_starts[series + 1] - other_starts[series]
        length = lengths.max()
        others = _side_by_side(other_values, other_starts, series, length)
        above, lefts = np.empty((length + 1) * LANES), np.empty(5 * LANES)
        for p in range(first + series.size if symmetric else order.size):
            i = order[p]
            x = values[starts[i] : starts[i + 1]]
            done = np.zeros(series.size, dtype=np.bool_)
            for k in range(series.size):
                if done[k]:
                    continue
                width = _half_width(window, share, x.shape[0], lengths[k])
                _table(x, others, above, lefts, length, width, largest)
                for q in range(k, series.size):
                    if _half_width(window, share, x.shape[0], lengths[q]) == width:
                        done[q] = True
                        out[i, series[q]] = above[lengths[q] * LANES + q]
                        if symmetric:
                            out[series[q], i] = above[lengths[q] * LANES + q]
