"""Products of Chebyshev polynomials of total degree <= p on the cube from -1 to 1, and what boxes do with them.

The terms are in the order of native/summation/series.hpp: the degree along the first axis varies slowest.
"""

from functools import cache
from itertools import permutations

import numpy as np
from numpy.polynomial import chebyshev


@cache
def exponents(dimension: int, degree: int) -> np.ndarray:
    """The degrees along each axis, (terms, dimension)."""
    grid = np.indices((degree + 1,) * dimension).reshape(dimension, -1).T
    return grid[grid.sum(axis=1) <= degree]


def terms(dimension: int, degree: int) -> int:
    """How many there are."""
    return len(exponents(dimension, degree))


def padded(count: int) -> int:
    """Room for a row of numbers: a multiple of 8."""
    return -(-count // 8) * 8


def rows(points: np.ndarray, degree: int, axis: int | None = None) -> np.ndarray:
    """The terms at points (n, d) of the cube, or their derivatives along an axis, (n, terms)."""
    powers = exponents(points.shape[1], degree)
    result = np.ones((len(points), len(powers)))
    for k in range(points.shape[1]):
        values = chebyshev.chebvander(points[:, k], degree)
        if k == axis:
            slope = np.zeros((degree + 1, degree + 1))
            for j in range(1, degree + 1):
                slope[:j, j] = chebyshev.chebder(np.eye(j + 1)[j])
            values = values @ slope
        result *= values[:, powers[:, k]]
    return result


@cache
def interpolation(dimension: int, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (m, d), and the matrix (terms, m) that makes coefficients of the values there.

    The nodes are those points of a grid of Chebyshev-Lobatto points whose indices are all even or all odd, which
    integrate polynomials of degree 2 degree + 1 exactly [De Marchi, Vianello and Xu 2009].
    """
    index = np.arange(degree + 2)
    line = np.cos(np.pi * index / (degree + 1))
    halves = [
        np.stack(np.meshgrid(*[index[k::2]] * dimension, indexing="ij"), -1).reshape(-1, dimension) for k in (0, 1)
    ]
    chosen = np.concatenate(halves)
    at_edge = ((chosen == 0) | (chosen == degree + 1)).sum(axis=1)
    weights = 2.0 ** (dimension - 1 - at_edge) / (degree + 1) ** dimension
    nodes = line[chosen]
    return nodes, np.ascontiguousarray((rows(nodes, degree) * norms(dimension, degree) ** 2 * weights[:, None]).T)


@cache
def norms(dimension: int, degree: int) -> np.ndarray:
    """Factors that give all terms the mean square 1 over the cube with Chebyshev's weight."""
    return np.sqrt(2.0 ** (exponents(dimension, degree) > 0).sum(axis=1))


@cache
def to_parents(dimension: int, degree: int, parent_degree: int) -> np.ndarray:
    """Moments of a child (row) times matrix = moments of the parent: (2^d, padded terms, padded terms).

    T_a at t = (u +- 1) / 2 is a sum of T_b(u), b <= a, along each axis. Series go down by the transposed matrices.
    """
    line = chebyshev.chebpts1(parent_degree + 1)
    factor = np.full((parent_degree + 1, 1), 2.0 / (parent_degree + 1))
    factor[0] *= 0.5
    to_series = factor * chebyshev.chebvander(line, parent_degree).T
    halves = [to_series @ chebyshev.chebvander((line + side) / 2, parent_degree) for side in (-1, 1)]
    low, high = exponents(dimension, degree), exponents(dimension, parent_degree)
    kept = (low <= parent_degree).all(axis=1)
    result = np.zeros((2**dimension, padded(len(low)), padded(len(high))))
    for child in range(2**dimension):
        block = np.ones((kept.sum(), len(high)))
        for axis in range(dimension):
            half = halves[child >> (dimension - 1 - axis) & 1]
            block *= half[np.ix_(low[kept, axis], high[:, axis])]
        result[child, np.flatnonzero(kept)[:, None], np.arange(len(high))] = block
    return result


@cache
def permuted(dimension: int, degree: int) -> list[tuple[tuple[int, ...], np.ndarray]]:
    """For each permutation of the axes: where each term goes when term a becomes a[permutation]."""
    powers = exponents(dimension, degree)
    base = (degree + 1) ** np.arange(dimension)
    order = np.argsort(powers @ base)
    result = []
    for permutation in permutations(range(dimension)):
        keys = powers[:, permutation] @ base
        result.append((permutation, order[np.searchsorted(powers @ base, keys, sorter=order)]))
    return result
