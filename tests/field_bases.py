"""Small multilevel bases, and their functions one by one, for tests against dense solutions."""

import numpy as np

from seminorm import Field
from seminorm.bases.box import GridBox
from seminorm.fields.system import collapse
from seminorm.fields.tree import Tree


def small_tree(d, q, levels=2, margin=1.0):
    """A tree whose finer levels cover a part of the box only, at a corner of the data."""
    tree = Tree.root(GridBox.around(np.zeros(d), np.ones(d), margin=margin), q)
    for level in range(levels):
        marked = np.zeros((len(tree.coords[tree.blocks(level)]), tree.layout.side**d), dtype=bool)
        block, cell = tree.locate(tree.box.coordinates(np.full((1, d), 0.3)))
        marked[block[0] - tree.level_start[level], cell[0]] = True
        tree = tree.refine(marked)
    return tree


def random_field(tree, order, seed=0):
    x = np.random.default_rng(seed).standard_normal(tree.active.shape) * tree.active
    return Field(tree, collapse(tree, x), order), x


def basis_columns(tree):
    """Every active function of every level as a field."""
    for block, node in np.argwhere(tree.active):
        x = np.zeros(tree.active.shape)
        x[block, node] = 1.0
        yield Field(tree, collapse(tree, x), 2)


def dense_matrix(system, alpha):
    tree = system.tree
    columns = []
    for block, node in np.argwhere(tree.active):
        x = np.zeros(tree.active.shape)
        x[block, node] = 1.0
        columns.append(system.apply(x, alpha)[tree.active])
    return np.stack(columns, axis=1)
