"""An order of points from coarse to fine: every beginning of the list is spread evenly over the data."""

import numpy as np

_KEY_BITS = 60
_SEED = 0


def coarse_to_fine(points: np.ndarray) -> np.ndarray:
    """The order (n,) of points (n, d): level by level, one point for each cell of a grid that has none so far.

    The cells of a level are half as wide as those before. A cell takes the point nearest to its centre; the points of
    one level come in random order, always the same. Points that no cell separates come last.
    """
    n, d = points.shape
    low, side = points.min(axis=0), float(np.ptp(points, axis=0).max())
    if n < 3 or side == 0.0:
        return np.arange(n)
    bits = _KEY_BITS // d
    unit = (points - low) / side
    keys = _interleaved(np.minimum(unit * 2.0**bits, 2.0**bits - 1).astype(np.int64), bits)
    by_key = np.argsort(keys, kind="stable")
    keys, unit = keys[by_key], unit[by_key]
    taken, levels, rng = np.zeros(n, dtype=bool), [], np.random.default_rng(_SEED)
    for level in range(bits + 1):
        new = _one_per_cell(keys >> (d * (bits - level)), unit * 2.0**level, taken)
        taken[new] = True
        levels.append(rng.permutation(new))
        if taken.all():
            break
    levels.append(np.flatnonzero(~taken))
    return by_key[np.concatenate(levels)]


def _interleaved(cells: np.ndarray, bits: int) -> np.ndarray:
    """The bits of the columns of cells (n, d) in turn, the highest first: the order of a Z-curve."""
    d = cells.shape[1]
    keys = np.zeros(len(cells), dtype=np.int64)
    for bit in range(bits):
        for axis in range(d):
            keys |= ((cells[:, axis] >> bit) & 1) << (bit * d + d - 1 - axis)
    return keys


def _one_per_cell(cells: np.ndarray, places: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """Of points sorted by cell, those nearest to the centres of the cells of which none is taken."""
    starts = np.flatnonzero(np.r_[True, cells[1:] != cells[:-1]])
    numbers = np.cumsum(np.r_[0, (cells[1:] != cells[:-1]).astype(np.int64)])
    offsets = ((places - np.floor(places) - 0.5) ** 2).sum(axis=1)
    offsets[taken] = -1.0
    nearest = np.flatnonzero(offsets == np.minimum.reduceat(offsets, starts)[numbers])
    first = np.r_[True, numbers[nearest][1:] != numbers[nearest][:-1]]
    chosen = nearest[first]
    return chosen[~taken[chosen]]
