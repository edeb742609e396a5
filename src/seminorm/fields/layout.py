"""Blocks of a grid in any dimension: how functions and cells are numbered.

A level of the multilevel basis is a grid of functions, stored in blocks of ``side`` functions along each axis, the last
axis fastest. The compiled loops know the same layout (native/fields/links.hpp).
"""

from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np

SIDES = {1: 64, 2: 16, 3: 8, 4: 4}


class BlockLayout(NamedTuple):
    """Tables for blocks of B-splines of one degree in one dimension; d = dimension, q = degree, B = side."""

    dimension: int
    degree: int
    side: int
    digits: np.ndarray  # ((q + 1)**d, d): positions of the functions alive on a cell, relative to it
    pairs: np.ndarray  # ((q + 1)**d, (q + 1)**d): the stencil entry that couples two functions alive on a cell
    node_coords: np.ndarray  # (B**d, d): positions in a block

    @property
    def stencil(self) -> int:
        """Number of entries of a stencil, one for every function whose support meets that of a function."""
        return (2 * self.degree + 1) ** self.dimension


def _tuples(choices, dimension: int) -> np.ndarray:
    return np.array(list(product(choices, repeat=dimension)), dtype=np.int64).reshape(-1, dimension)


def _flat(coordinates: np.ndarray, width: int) -> np.ndarray:
    """Row-major position in a cube of the given width."""
    weights = width ** np.arange(coordinates.shape[-1] - 1, -1, -1)
    return (coordinates * weights).sum(axis=-1)


@cache
def layout(dimension: int, degree: int) -> BlockLayout:
    """The tables for a dimension and a degree."""
    side, digits = SIDES[dimension], _tuples(range(degree + 1), dimension)
    pairs = _flat(digits[None] - digits[:, None] + degree, 2 * degree + 1)
    tables = BlockLayout(dimension, degree, side, digits, pairs, _tuples(range(side), dimension))
    for table in (tables.digits, tables.pairs, tables.node_coords):
        table.flags.writeable = False
    return tables
