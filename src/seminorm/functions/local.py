"""Functionals that look at one point each: values, derivatives along directions, and sums of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from .._base.patterns import is_plain
from .functionals import Functional, Term


class LocalFunctionals(NamedTuple):
    """c f(x) + g . grad f(x): distinct places x (n, d), the place of each functional (N,), and its jet (c, g)."""

    places: np.ndarray
    place: np.ndarray
    jets: np.ndarray  # (N, 1 + d)


def local_functionals(functionals: Sequence[Functional]) -> LocalFunctionals | None:
    """All functionals of a list as jets at points, or None if one of them looks at several points or at second
    derivatives."""
    sizes = [functional.size for functional in functionals]
    starts, d, total = np.cumsum([0, *sizes]), functionals[0].dimension, sum(sizes)
    points, jets = np.full((total, d), np.nan), np.zeros((total, 1 + d))
    for functional, start in zip(functionals, starts[:-1], strict=True):
        for term in functional.terms:
            if term.derivative > 1 or not is_plain(term.points):
                return None
            row, at, jet = _entries(term)
            rows = start + row
            fresh = np.isnan(points[rows, 0])
            points[rows[fresh]] = term.points[at[fresh]]
            if not np.array_equal(points[rows], term.points[at]):
                return None
            np.add.at(jets, rows, jet)
    if np.isnan(points).any() or not jets.any(axis=1).all():
        return None
    places, place = np.unique(points, axis=0, return_inverse=True)
    return LocalFunctionals(places, place.ravel(), jets)


def _entries(term: Term) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each nonzero entry of the matrix of a term: its functional, its point and its jet."""
    d = term.points.shape[1]
    matrix = sparse.coo_array(sparse.eye_array(term.width) if term.matrix is None else term.matrix)
    used = matrix.data != 0
    row, column, data = matrix.row[used], matrix.col[used], matrix.data[used]
    jet, width = np.zeros((len(row), 1 + d)), d**term.derivative
    jet[np.arange(len(row)), term.derivative * (1 + column % width)] = data
    return row, column // width, jet
