"""How many basis points a machine has, which they are, and kernel values there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._base.memory import available_bytes
from .._base.patterns import PatternTable, is_plain
from ..kernels import Kernel
from .row_tables import RowTable

MOST_DENSE = 16_000  # points up to which "auto" takes all of them
BASIS = 2000  # and how many beyond
_PER_BASIS = 20  # candidates for each basis point
_ROUNDS = 16
_FIRST = 8
_KEPT_BYTES = 4 * 2**30  # of kernel values that are kept in place of being computed again
_KEPT_SHARE = 0.25  # of the memory that is available


def check_number(n_basis: Any) -> None:
    """Raise an error if it is no number of basis points."""
    if n_basis is None or (isinstance(n_basis, str) and n_basis == "auto"):
        return
    if isinstance(n_basis, bool) or not (isinstance(n_basis, (int, np.integer)) and n_basis > 0):
        raise ValueError(f"n_basis must be 'auto', a positive integer or None for all points, got {n_basis!r}.")


def number_for(n_basis: int | str | None, n: int, copies: int, hindered: bool) -> int | None:
    """How many basis points n points are to have; None for all.

    "auto" takes all of them if they are few and ``copies`` matrices of them fit into memory, or if the machine cannot
    do otherwise (``hindered``).
    """
    if n_basis is None or not isinstance(n_basis, str):
        return n_basis
    free = available_bytes()
    fits = n <= MOST_DENSE and (n <= BASIS or free is None or copies * 8 * n**2 <= free)
    return None if hindered or fits else BASIS


def basis_points(
    X: Any, n: int, number: int | None, distinct_only: bool, random_state: int | np.random.RandomState | None
) -> np.ndarray | None:
    """Which of n points have a kernel term: ``number`` of them, or distinct ones; None for all. X is None for a given
    matrix."""
    stays, distinct = isinstance(X, RowTable), np.arange(n)
    if distinct_only and isinstance(X, PatternTable):
        distinct = np.sort(np.unique(X.keys(), return_index=True)[1])
    elif distinct_only and is_plain(X):
        distinct = np.sort(np.unique(X, axis=0, return_index=True)[1])
    if number is not None and number < len(distinct):
        rng = check_random_state(random_state)
        return np.sort(rng.choice(n, number, replace=False)) if X is None else spread_out(X, number, rng)
    if stays:
        raise ValueError(f"X has {n} rows that stay on disk or with workers, and all of them are needed: load X.")
    return None if len(distinct) == n else distinct


def spread_out(X: Any, number: int, rng: np.random.RandomState) -> np.ndarray:
    """Rows of X (sorted), random but far from each other: a point is drawn with a probability that grows with its
    squared distance from those drawn before [Arthur and Vassilvitskii 2007], a sixteenth of them at a time.

    They are distinct, and fewer than ``number`` if there are not as many distinct ones.
    """
    n = X.shape[0]
    some = np.sort(rng.permutation(n)[: _PER_BASIS * number])
    points = X[some]
    if not is_plain(points):  # distances would fill the matrix
        return np.sort(some[:number])
    points = np.asarray(points) - np.mean(points, axis=0)
    squares = np.einsum("ij,ij->i", points, points)
    nearest = np.full(len(points), float(squares.max(initial=0.0)) or 1.0)
    chosen = np.empty(0, dtype=int)
    while len(chosen) < number:
        possible = int(np.count_nonzero(nearest))
        size = min(max(_FIRST, number // _ROUNDS), number - len(chosen), possible)
        if not size:
            break
        new = _distinct(points, rng.choice(len(points), size, replace=False, p=nearest / nearest.sum()))
        chosen = np.concatenate([chosen, new])
        for start in range(0, len(points), 4096):
            rows = slice(start, start + 4096)
            apart = squares[rows, None] + squares[new] - 2.0 * points[rows] @ points[new].T
            apart[apart <= 1e-12 * (squares[rows, None] + squares[new])] = 0.0  # equal up to rounding
            np.minimum(nearest[rows], apart.min(axis=1), out=nearest[rows])
        nearest[chosen] = 0.0
    return np.sort(some[chosen])


def _distinct(points: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return rows[np.sort(np.unique(points[rows], axis=0, return_index=True)[1])]


def values_at(kernel: Kernel | None, X: Any, basis: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Rows of kernel values at the basis points: kept if they are not too many, otherwise computed when asked for."""
    if kernel is None:
        return lambda points: X[np.ix_(points, basis)]
    if isinstance(X, RowTable):
        return X.values_at(kernel, basis)
    centers = X[basis]
    free, needed = available_bytes(), 8 * X.shape[0] * len(basis)
    if needed <= min(_KEPT_BYTES, np.inf if free is None else _KEPT_SHARE * free):
        return partial(_kept_rows, kernel(X, centers))
    return lambda points: kernel(X[points], centers)


def _kept_rows(matrix: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Rows of a matrix; no copy of those that follow each other."""
    if len(points) and points[-1] - points[0] == len(points) - 1 and (np.diff(points) == 1).all():
        return matrix[points[0] : points[-1] + 1]
    return matrix[points]
