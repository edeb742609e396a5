"""Values of a field on blocks of a regular grid, for the extraction of its level sets."""

from __future__ import annotations

import numpy as np

from ..operators.bsplines import pieces
from . import _local
from .field import Field


def sample_blocks(field: Field, level: int, blocks: np.ndarray) -> np.ndarray:
    """Values on the corners of the cells of blocks of the grid of a level, not coarser than the field there.

    Parameters
    ----------
    field : Field
    level : int
        Cells have the width of those of level 0 divided by 2**level.
    blocks : int array (n, d)
        Block coordinates; a block has ``field.tree.layout.side`` cells a side.

    Returns
    -------
    array (n, side + 1, ..., side + 1)
    """
    tree = field.tree
    if level < tree.depth:
        raise ValueError(f"level={level} is coarser than the field's depth {tree.depth}.")
    d, corners = tree.box.dimension, tree.layout.side + 1
    out = np.empty((len(blocks), corners**d), dtype=field.coef.dtype)
    _local.sample(
        field.coef, np.ascontiguousarray(blocks, dtype=np.int64), level, tree.links, tree.layout, tree.root_lookup,
        np.array(pieces(tree.degree)), out.dtype.type(field.offset), out,
    )  # fmt: skip
    return out.reshape(len(blocks), *[corners] * d)
