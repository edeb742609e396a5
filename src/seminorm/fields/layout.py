"""Blocks of a grid in any dimension: index tables that let one set of loops serve dimensions 1 to 4.

A level of the multilevel basis is a grid of functions, stored in blocks of ``side`` functions along each axis. A loop
over a block works on a *padded* copy, ``side + 2 degree`` wide, filled from the block and its 3**d - 1 neighbours, so
that every function finds the others whose support meets its own at fixed offsets.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np

from ..operators.bsplines import refinement_mask

SIDES = {1: 64, 2: 16, 3: 8, 4: 4}


class Layout(NamedTuple):
    """Tables for blocks of B-splines of one degree in one dimension; d = dimension, q = degree, B = side.

    Attributes
    ----------
    dimension, degree, side : int
    digits : array ((q + 1)**d, d)
        Positions of the functions alive on a cell, relative to the cell.
    pairs : array ((q + 1)**d, (q + 1)**d)
        Number of the stencil entry that couples two functions alive on a cell.
    pad_slot, pad_node : arrays ((B + 2 q)**d,)
        Where the padded copy comes from: neighbour (0 .. 3**d - 1) and position in its block.
    centre : array (B**d,)
        Position of a function in the padded copy.
    cell_offset : array ((q + 1)**d,)
        Cells under a function: how far before it they lie in the padded copy, in the order of ``digits``.
    offset : array ((2 q + 1)**d,)
        Stencil entries as offsets in the padded copy.
    refinement : array (p, B)
        The functions of a block in the p of half a block above, an axis.
    node_coords : array (B**d, d)
        Positions in a block.
    patch_slot, patch_node : arrays ((B + q)**d,)
        The functions alive on the cells of a block: neighbour (0 .. 3**d - 1) and position in its block.
    patch_offset : array ((q + 1)**d,)
        Functions alive on a cell: how far after the first one they lie in the patch, in the order of ``digits``.
    """

    dimension: int
    degree: int
    side: int
    digits: np.ndarray
    pairs: np.ndarray
    pad_slot: np.ndarray
    pad_node: np.ndarray
    centre: np.ndarray
    cell_offset: np.ndarray
    offset: np.ndarray
    refinement: np.ndarray
    node_coords: np.ndarray
    patch_slot: np.ndarray
    patch_node: np.ndarray
    patch_offset: np.ndarray


def _tuples(choices, dimension: int) -> np.ndarray:
    return np.array(list(product(choices, repeat=dimension)), dtype=np.int64).reshape(-1, dimension)


def _flat(coordinates: np.ndarray, width: int) -> np.ndarray:
    """Row-major position in a cube of the given width."""
    weights = width ** np.arange(coordinates.shape[-1] - 1, -1, -1)
    return (coordinates * weights).sum(axis=-1)


def _sources(first: int, width: int, side: int, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Slot among 3**d blocks and position there, for the cube of positions first, ..., first + width - 1 an axis; the
    middle block starts at 0.
    """
    positions = _tuples(range(first, first + width), dimension)
    return _flat(positions // side + 1, 3), _flat(positions % side, side)


@cache
def layout(dimension: int, degree: int) -> Layout:
    """The tables for a dimension and a degree."""
    d, q, side = dimension, degree, SIDES[dimension]
    nodes = _tuples(range(side), d)
    digits = _tuples(range(q + 1), d)
    width = side + 2 * q
    pad_slot, pad_node = _sources(-q, width, side, d)
    patch_slot, patch_node = _sources(0, side + q, side, d)
    tables = Layout(
        dimension=d,
        degree=q,
        side=side,
        digits=digits,
        pairs=_flat(digits[None] - digits[:, None] + q, 2 * q + 1),
        pad_slot=pad_slot,
        pad_node=pad_node,
        centre=_flat(nodes + q, width),
        cell_offset=_flat(digits, width),
        offset=_flat(_tuples(range(-q, q + 1), d), width),
        refinement=_refinement(side, q),
        node_coords=nodes,
        patch_slot=patch_slot,
        patch_node=patch_node,
        patch_offset=_flat(digits, side + q),
    )
    for table in tables:
        if isinstance(table, np.ndarray):
            table.flags.writeable = False
    return tables


def _refinement(side: int, q: int) -> np.ndarray:
    """Function j of half a block contains the functions 2 j - q + t of the block below, t = 0, ..., q + 1."""
    table = np.zeros((side // 2 + (q + 1) // 2, side))
    for j in range(len(table)):
        for t, weight in enumerate(refinement_mask(q)):
            if 0 <= 2 * j - q + t < side:
                table[j, 2 * j - q + t] = weight
    return table
