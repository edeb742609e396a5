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
    coarse_base : array (2**d, B**d), coarse_class : array (B**d,)
        For a block that is the given half (a bit an axis) of its parent: the position in the padded parent of the first
        coarse function that contains a fine one, and the parity class of the fine one.
    coarse_offset, coarse_weight : arrays (2**d, p)
        Offsets and refinement weights of the coarse functions that contain a fine function of a parity class.
    fine_slot, fine_node : arrays ((2 B + q)**d,)
        The fine functions in the functions of a block: neighbour (0 .. 3**d - 1) among the blocks 2 b - 1, 2 b, 2 b + 1
        of the finer level, and position there.
    fine_base : array (B**d,), fine_offset, fine_weight : arrays ((q + 2)**d,)
        For a function of the block, the first fine function it contains, offsets of all and their weights.
    node_coords : array (B**d, d)
        Positions in a block.
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
    coarse_base: np.ndarray
    coarse_class: np.ndarray
    coarse_offset: np.ndarray
    coarse_weight: np.ndarray
    fine_slot: np.ndarray
    fine_node: np.ndarray
    fine_base: np.ndarray
    fine_offset: np.ndarray
    fine_weight: np.ndarray
    node_coords: np.ndarray


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
    halves = _tuples(range(2), d)
    coarse_base = np.stack([_flat(half * (side // 2) + nodes // 2 + q, width) for half in halves])
    coarse_offset, coarse_weight = _coarse_tables(d, q, width)
    fine_width = 2 * side + q
    fine_slot, fine_node = _fine_sources(side, q, d)
    steps = _tuples(range(q + 2), d)
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
        coarse_base=coarse_base,
        coarse_class=_flat(nodes % 2, 2),
        coarse_offset=coarse_offset,
        coarse_weight=coarse_weight,
        fine_slot=fine_slot,
        fine_node=fine_node,
        fine_base=_flat(2 * nodes, fine_width),
        fine_offset=_flat(steps, fine_width),
        fine_weight=refinement_mask(q)[steps].prod(axis=1),
        node_coords=nodes,
    )
    for table in tables:
        if isinstance(table, np.ndarray):
            table.flags.writeable = False
    return tables


def _coarse_tables(d: int, q: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Coarse functions that contain fine function i along an axis: 2 j - q + t = i, so j = (i + q - t) / 2."""
    mask = refinement_mask(q)
    axis = [[((parity + q - t) // 2, mask[t]) for t in range(q + 2) if (parity + q - t) % 2 == 0] for parity in (0, 1)]
    classes = [list(product(*(axis[parity] for parity in parities))) for parities in product((0, 1), repeat=d)]
    most = max(map(len, classes))
    offsets, weights = np.zeros((2**d, most), dtype=np.int64), np.zeros((2**d, most))
    for k, entries in enumerate(classes):
        for e, entry in enumerate(entries):
            offsets[k, e] = _flat(np.array([step for step, _ in entry]), width)
            weights[k, e] = np.prod([weight for _, weight in entry])
    return offsets, weights


def _fine_sources(side: int, q: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Fine functions -q, ..., 2 side - 1 an axis relative to the block's first; fine block slots -1, 0, 1."""
    return _sources(-q, 2 * side + q, side, d)
