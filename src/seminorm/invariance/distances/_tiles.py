"""Matrices of distances, tile by tile."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...memory import require_memory

TILE = 128


def require_matrix(n: int, m: int) -> None:
    """An error if a matrix of so many distances does not fit into memory."""
    require_memory(8 * n * m, f"A matrix of {n} x {m} distances", "compute it for fewer patterns at a time.")


def require_equal_patterns(X: np.ndarray, Y: np.ndarray | None) -> None:
    """An error if rows of X and Y have different lengths, or if the matrix of distances does not fit into memory."""
    if Y is not None and X.shape[1] != Y.shape[1]:
        raise ValueError(f"patterns of X have {X.shape[1]} numbers and those of Y have {Y.shape[1]}: they must agree.")
    require_matrix(len(X), len(X if Y is None else Y))


def tiled(tile_of: Callable[[slice, slice], np.ndarray], n: int, m: int | None = None) -> np.ndarray:
    """The matrix (n, m) of tiles; ``m=None``: (n, n), half of the tiles mirrored, the diagonal zero."""
    matrix = np.empty((n, n if m is None else m))
    for i in range(0, n, TILE):
        rows = slice(i, min(i + TILE, n))
        for j in range(i if m is None else 0, matrix.shape[1], TILE):
            columns = slice(j, min(j + TILE, matrix.shape[1]))
            matrix[rows, columns] = tile_of(rows, columns)
            if m is None:
                if i == j:
                    upper = np.triu(matrix[rows, columns], 1)
                    matrix[rows, columns] = upper + upper.T
                else:
                    matrix[columns, rows] = matrix[rows, columns].T
    return matrix
