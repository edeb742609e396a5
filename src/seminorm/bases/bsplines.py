"""Cardinal B-splines on a grid: pieces on a cell, refinement, and the energies of their tensor products.

Functions are numbered so that, on a grid with n cells per side, function j is positive on the cells j - degree, ..., j;
there are n + degree of them. On one cell the functions c, ..., c + degree are alive, called 0, ..., degree below.
"""

from functools import cache
from itertools import product
from math import comb, factorial, prod

import numpy as np


@cache
def pieces(degree: int) -> np.ndarray:
    """The B-splines alive on a cell as polynomials in t in [0, 1]: ``pieces[a, k]`` is the coefficient of t**k."""
    table = np.zeros((degree + 1, degree + 1))
    for a in range(degree + 1):
        # truncated powers at x = degree - a + t: b(x) = sum_n (-1)^n C(degree + 1, n) (x - n)_+^degree / degree!
        for n in range(degree - a + 1):
            for k in range(degree + 1):
                power = comb(degree, k) * float(degree - a - n) ** (degree - k)
                table[a, k] += (-1) ** n * comb(degree + 1, n) * power / factorial(degree)
    table.flags.writeable = False
    return table


@cache
def derivative_pieces(degree: int, order: int) -> np.ndarray:
    """The same for the derivatives 0, ..., order: shape (order + 1, degree + 1, degree + 1)."""
    tables = [np.array(pieces(degree))]
    for _ in range(order):
        slope = np.zeros_like(tables[-1])
        slope[:, :-1] = tables[-1][:, 1:] * np.arange(1, degree + 1)
        tables.append(slope)
    result = np.stack(tables)
    result.flags.writeable = False
    return result


@cache
def refinement_mask(degree: int) -> np.ndarray:
    """Weights of the functions 2 j - degree, ..., 2 j + 1 of the grid twice as fine in function j."""
    mask = np.array([comb(degree + 1, t) for t in range(degree + 2)]) / 2.0**degree
    mask.flags.writeable = False
    return mask


def refinement_table(coarse: int, fine: int, degree: int) -> np.ndarray:
    """Weights (coarse, fine) of the functions of a line of the grid twice as fine in those of a line."""
    table, steps = np.zeros((coarse, fine)), np.arange(degree + 2) - degree
    for j in range(coarse):
        inside = (2 * j + steps >= 0) & (2 * j + steps < fine)
        table[j, 2 * j + steps[inside]] = refinement_mask(degree)[inside]
    return table


@cache
def cell_products(degree: int, order: int) -> np.ndarray:
    """The integrals over a cell of products of the derivatives of the given order, (degree + 1, degree + 1)."""
    table = derivative_pieces(degree, order)[order]
    moments = 1.0 / (1 + np.arange(degree + 1)[:, None] + np.arange(degree + 1))
    return table @ moments @ table.T


@cache
def cell_energy(dimension: int, degree: int, order: int) -> np.ndarray:
    """The energy of an order on the unit cell, as a quadratic form of the tensor products alive there."""
    check_order(degree, order)
    size = (degree + 1) ** dimension
    energy = np.zeros((size, size))
    for orders in product(range(order + 1), repeat=dimension):
        if sum(orders) == order:
            term = np.ones((1, 1))
            for k in orders:
                term = np.kron(term, cell_products(degree, k))
            energy += factorial(order) / prod(factorial(k) for k in orders) * term
    energy.flags.writeable = False
    return energy


def check_order(degree: int, order: int) -> None:
    """An energy of order m needs splines whose m-th derivatives are functions, not deltas."""
    if degree < order:
        raise ValueError(
            f"degree={degree} is too small for order={order}: B-splines of degree {degree} have no square integrable "
            f"derivatives of order {order}. Use degree={order} or a lower order."
        )
