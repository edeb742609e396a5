"""Blocks of a grid in any dimension: index tables that let one set of loops serve dimensions 1 to 4.

A level of the multilevel basis is a grid of functions, stored in blocks of ``side`` functions along each axis. A loop
over a block works on a *padded* copy, ``side + 2 degree`` wide, filled from the block and its 3**d - 1 neighbours, so
that every function finds the others whose support meets its own at fixed offsets.
"""

from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np

from ..bases.bsplines import refinement_table

SIDES = {1: 64, 2: 16, 3: 8, 4: 4}


class BlockLayout(NamedTuple):
    """Tables for blocks of B-splines of one degree in one dimension; d = dimension, q = degree, B = side."""

    dimension: int
    degree: int
    side: int
    digits: np.ndarray  # ((q + 1)**d, d): positions of the functions alive on a cell, relative to it
    pairs: np.ndarray  # ((q + 1)**d, (q + 1)**d): the stencil entry that couples two functions alive on a cell
    pad_slot: np.ndarray  # ((B + 2 q)**d,): where the padded copy comes from, the neighbour (0 .. 3**d - 1)
    pad_node: np.ndarray  # ... and the position in its block
    center: np.ndarray  # (B**d,): position of a function in the padded copy
    cell_offset: np.ndarray  # ((q + 1)**d,): how far before a function its cells lie in the padded copy, as ``digits``
    offset: np.ndarray  # ((2 q + 1)**d,): stencil entries as offsets in the padded copy
    refinement: np.ndarray  # (p, B): the functions of a block in the p of half a block above, along one axis
    node_coords: np.ndarray  # (B**d, d): positions in a block
    patch_slot: np.ndarray  # ((B + q)**d,): where the functions alive on the cells of a block are: the neighbour
    patch_node: np.ndarray  # ... and the position in its block
    patch_offset: np.ndarray  # ((q + 1)**d,): how far after the first one the functions of a cell lie in the patch


def _tuples(choices, dimension: int) -> np.ndarray:
    return np.array(list(product(choices, repeat=dimension)), dtype=np.int64).reshape(-1, dimension)


def _flat(coordinates: np.ndarray, width: int) -> np.ndarray:
    """Row-major position in a cube of the given width."""
    weights = width ** np.arange(coordinates.shape[-1] - 1, -1, -1)
    return (coordinates * weights).sum(axis=-1)


def _sources(first: int, width: int, side: int, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Slot among 3**d blocks, of which the middle one starts at 0, and position there, for a cube of positions."""
    positions = _tuples(range(first, first + width), dimension)
    return _flat(positions // side + 1, 3), _flat(positions % side, side)


@cache
def layout(dimension: int, degree: int) -> BlockLayout:
    """The tables for a dimension and a degree."""
    d, q, side = dimension, degree, SIDES[dimension]
    nodes = _tuples(range(side), d)
    digits = _tuples(range(q + 1), d)
    width = side + 2 * q
    pad_slot, pad_node = _sources(-q, width, side, d)
    patch_slot, patch_node = _sources(0, side + q, side, d)
    tables = BlockLayout(
        dimension=d,
        degree=q,
        side=side,
        digits=digits,
        pairs=_flat(digits[None] - digits[:, None] + q, 2 * q + 1),
        pad_slot=pad_slot,
        pad_node=pad_node,
        center=_flat(nodes + q, width),
        cell_offset=_flat(digits, width),
        offset=_flat(_tuples(range(-q, q + 1), d), width),
        refinement=refinement_table(side // 2 + (q + 1) // 2, side, q),
        node_coords=nodes,
        patch_slot=patch_slot,
        patch_node=patch_node,
        patch_offset=_flat(digits, side + q),
    )
    for table in tables:
        if isinstance(table, np.ndarray):
            table.flags.writeable = False
    return tables
