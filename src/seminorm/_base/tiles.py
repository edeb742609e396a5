"""Matrices of pairs, walked in tiles, so that what is needed at a time fits into a bounded memory."""

from collections.abc import Callable

import numpy as np

#: rows and columns of a tile, as slices that end inside the matrix
Tile = tuple[slice, slice]
#: a function that calls the first argument with every tile of the second one, in any order
ForEach = Callable[[Callable[[Tile], None], list[Tile]], None]


def tiles(n: int, m: int | None, side: int) -> list[Tile]:
    """The tiles of a matrix (n, m), row by row; with ``m=None`` those on and above the diagonal of (n, n)."""
    rows = _slices(n, side)
    if m is None:
        return [(rows[i], rows[j]) for i in range(len(rows)) for j in range(i, len(rows))]
    columns = _slices(m, side)
    return [(here, there) for here in rows for there in columns]


def tiled(
    tile_of: Callable[[slice, slice], np.ndarray],
    n: int,
    m: int | None = None,
    *,
    side: int = 256,
    for_each: ForEach | None = None,
) -> np.ndarray:
    """The matrix (n, m) that consists of the tiles ``tile_of(rows, columns)`` of two slices.

    Without m it is (n, n) and symmetric: its upper half is taken from ``tile_of`` and mirrored. ``side`` bounds a tile,
    and so the memory of ``tile_of``. ``for_each(work, tiles)`` calls ``work(tile)`` for every tile, on threads for
    instance; a loop by default.
    """
    matrix = np.empty((n, n if m is None else m))

    def fill(tile: Tile) -> None:
        rows, columns = tile
        values = tile_of(rows, columns)
        if m is None and rows == columns:
            values = np.triu(values) + np.triu(values, 1).T
        elif m is None:
            matrix[columns, rows] = values.T
        matrix[rows, columns] = values

    if for_each is not None:
        for_each(fill, tiles(n, m, side))
    else:
        for tile in tiles(n, m, side):
            fill(tile)
    return matrix


def _slices(size: int, side: int) -> list[slice]:
    return [slice(start, min(start + side, size)) for start in range(0, size, side)]
