"""Levels around points: cells that hold some, and as many levels as they are dense."""

import numpy as np

from .tree import Tree


def occupied_cells(tree: Tree, X: np.ndarray) -> np.ndarray:
    """The leaf cells of the finest level that hold points, for :meth:`Tree.refine`."""
    block, cell = tree.locate(X)
    own = tree.blocks(tree.depth)
    marked = np.zeros((own.stop - own.start, tree.leaf.shape[1]), dtype=np.bool_)
    here = block >= own.start
    marked[block[here] - own.start, cell[here]] = True
    return marked


def deepened(tree: Tree, X: np.ndarray, points_per_cell: float, deepest: int, most: float = np.inf) -> Tree:
    """The tree with levels added around the points, while occupied cells hold ``points_per_cell`` on average."""
    while tree.depth < deepest:
        width = 2 ** (tree.depth + 1)
        keys = np.ravel_multi_index(np.floor(X * width).astype(np.int64).T, tuple(tree.box.cells * width + 1))
        if len(X) < points_per_cell * len(np.unique(keys)):
            break
        finer = tree.refine(occupied_cells(tree, X))
        if finer.active.size > most:
            break
        tree = finer
    return tree
