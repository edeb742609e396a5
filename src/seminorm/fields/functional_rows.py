"""Linear functionals of fields: their rows in the coefficients on the leaves, and the cells they touch.

A functional may couple cells far apart, which the stencils of the system cannot hold: its row stands beside them, as a
sparse matrix.
"""

import numpy as np
from scipy import sparse

from .._base.memory import require_memory
from ..bases.bsplines import derivative_pieces
from ..functions.functionals import Functional, Term
from .tree import Tree

_ENTRY_BYTES = 64  # of a sparse matrix, its transpose, and what they are made from


def leaf_rows(functional: Functional, tree: Tree) -> sparse.csr_array:
    """Functionals of order 0 and 1 on a tree, for coefficients on the leaves (size, blocks * functions)."""
    entries = sum(term.width for term in functional.terms) * len(tree.layout.digits)
    advice = "give fewer of them, or take fewer nodes per box."
    require_memory(_ENTRY_BYTES * entries, f"{functional.size} functionals of a field", advice)
    rows = (_matrix(term) @ _derivatives(term.points, term.derivative, tree) for term in functional.terms)
    return sparse.csr_array(sum(rows, start=sparse.csr_array((functional.size, tree.active.size))))


def of_constant(functional: Functional) -> np.ndarray:
    """The functionals (size,) of the function that is 1 everywhere."""
    values = (_matrix(term).sum(axis=1) for term in functional.terms if term.derivative == 0)
    return np.asarray(sum(values, start=np.zeros(functional.size)))


def cell_weights(functional: Functional, weights: np.ndarray, tree: Tree) -> tuple[np.ndarray, np.ndarray]:
    """Weights of values and of gradients, by scaled coordinates, in each leaf cell, (blocks, cells) each.

    Functionals of weight w and the coefficients c_j at points count like values at the points of weight
    w |c_j| sum |c|: by Cauchy and Schwarz at least as much as the functional, and as much where the function is
    constant and the coefficients have the same sign.
    """
    sums, units = np.zeros((2, *tree.active.shape)), np.linalg.norm(tree.box.jacobian, axis=1)
    for order in (0, 1):
        parts = []
        for term in (term for term in functional.terms if term.derivative == order):
            size = abs(_matrix(term))
            if order:
                size = size @ sparse.diags_array(np.tile(units, len(term.points)))
            parts.append((term, size))
        total = sum((size.sum(axis=1) for _, size in parts), start=np.zeros(functional.size))
        for term, size in parts:
            _add_to_cells(sums[order], term, size.T @ (weights * total), tree)
    return sums[0], sums[1]


def cell_shares(functional: Functional, tree: Tree) -> np.ndarray:
    """How many functionals there are in each leaf cell (blocks, cells): each is divided among its points."""
    shares = np.zeros(tree.active.shape)
    sizes = [abs(_matrix(term)) for term in functional.terms]
    total = sum((size.sum(axis=1) for size in sizes), start=np.zeros(functional.size))
    inverse = np.divide(1.0, total, out=np.zeros(len(total)), where=total > 0)
    for term, size in zip(functional.terms, sizes, strict=True):
        _add_to_cells(shares, term, size.T @ inverse, tree)
    return shares


def _matrix(term: Term) -> sparse.csr_array:
    return sparse.eye_array(term.width, format="csr") if term.matrix is None else sparse.csr_array(term.matrix)


def _add_to_cells(sums: np.ndarray, term: Term, amounts: np.ndarray, tree: Tree) -> None:
    """Add the amounts of derivatives to the cells of their points."""
    block, cell = tree.locate(np.ascontiguousarray(tree.box.coordinates(term.points)))
    np.add.at(sums, (block, cell), amounts.reshape(len(block), -1).sum(axis=1))


def _derivatives(X: np.ndarray, order: int, tree: Tree) -> sparse.csr_array:
    """Values or gradients, point by point, of the functions alive at each point."""
    d, tables = tree.box.dimension, tree.layout
    points = np.ascontiguousarray(tree.box.coordinates(X))
    block, cell = tree.locate(points)
    level, inside = tree.level_of[block], tables.node_coords[cell]
    t = points * 2.0 ** level[:, None] - tree.coords[block] * tables.side - inside
    place = inside[:, None] + tables.digits
    slot = (place // tables.side + 1) @ 3 ** np.arange(d)[::-1]
    node = place % tables.side @ tables.side ** np.arange(d)[::-1]
    columns = tree.neighbors[block[:, None], slot] * np.int64(tables.side**d) + node
    powers = t[:, :, None] ** np.arange(tree.degree + 1)
    along = [powers @ pieces.T for pieces in derivative_pieces(tree.degree, order)]  # (points, axes, functions)
    spacing = tree.box.spacing / 2.0 ** level[:, None]
    entries = []
    for axis in range(d if order else 1):
        factors = (along[order if a == axis else 0][:, a, tables.digits[:, a]] for a in range(d))
        product = np.prod(list(factors), axis=0)
        entries.append(product / spacing if order else product)
    values = np.stack(entries, axis=1)  # (points, components, functions alive)
    values = np.einsum("ab,pbk->pak", tree.box.jacobian, values) if order else values
    columns = np.broadcast_to(columns[:, None], values.shape)
    rows = values.shape[0] * values.shape[1]
    parts = values.reshape(-1), columns.reshape(-1), np.arange(rows + 1) * values.shape[2]
    return sparse.csr_array(parts, shape=(rows, tree.active.size))
