"""Pairs of neighbouring points that were held out together: how wrong a surface is, without the noise of its points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

_FEW = 4.0  # pairs that the posterior's own scale counts for
_NEAREST = 8  # least number of pairs that a local factor comes from
_ALIKE = 4.0  # pairs, times the squared share of the noise, that the mean of all counts for locally (measured)
_LEAST_LOCAL = 0.05  # of the mean of all
_MEDIAN_SQUARE = 0.4549  # of a normal number of variance one
_LEAST_IN_HOLE = 3  # pairs of a disc that tell something


@dataclass(frozen=True)
class HeldOutPairs:
    """Pairs of points that were held out together."""

    places: np.ndarray  # (2 n, 3): the feet of the first and of the second ones on the surface
    distances: np.ndarray  # (2 n,): signed, from surfaces that were fitted without them
    hole: np.ndarray | None = None  # (n,): number of the disc that a pair belongs to

    def products(self, values: np.ndarray) -> np.ndarray:
        """Of the values (2 n,) of both points of each pair (n,)."""
        first, second = np.split(values, 2)
        return first * second


def mutual_neighbors(X: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Pairs (k, 2) of points that are nearest to each other and have normals to the same side."""
    rows = np.arange(len(X))
    if len(X) < 2:
        return np.zeros((0, 2), dtype=np.int64)
    near = cKDTree(X).query(X, 2)[1]
    near = np.where(near[:, 0] == rows, near[:, 1], near[:, 0])  # copies of a point may come first
    first = rows[(near[near] == rows) & (rows < near)]
    pairs = np.stack([first, near[first]], axis=1)
    return pairs[(normals[pairs[:, 0]] * normals[pairs[:, 1]]).sum(axis=1) > 0]


def local_factors(pairs: HeldOutPairs, variances: np.ndarray, X: np.ndarray, scale: float) -> np.ndarray:
    """Factors (m,) of the posterior's variance at places X (m, 3), from the variances at the places of the pairs;
    ``scale`` is the posterior's own.

    How local they are is decided by the noise: the mean of all pairs counts for as many of them as there would have to
    be nearby for their mean product to be better known than the mean of all.
    """
    products, expected = pairs.products(pairs.distances), np.sqrt(pairs.products(variances))
    n = len(products)
    typical = float(expected.mean()) if n else 1.0
    factor = (products.sum() + _FEW * scale * typical) / (expected.sum() + _FEW * typical)
    factor = max(float(factor), scale)
    if n <= _NEAREST or factor == 0.0:
        return np.full(len(X), factor)
    noisy = float((pairs.distances**2).mean()) / (factor * typical)
    prior = _ALIKE * max(noisy, 1.0) ** 2
    k = int(np.clip(prior, _NEAREST, n // 8 + 1))
    near = cKDTree(0.5 * sum(np.split(pairs.places, 2))).query(X, k)[1].reshape(len(X), k)
    found = products[near].sum(axis=1) + prior * factor * typical
    return np.maximum(found, _LEAST_LOCAL * prior * factor * typical) / (expected[near].sum(axis=1) + prior * typical)


def hole_factor(holes: HeldOutPairs, variances: np.ndarray, far: np.ndarray, near: float) -> float:
    """The factor of the posterior's variance within holes, from discs that were cut out; at least that near the data.

    Errors within a disc go together, and few discs, over edges or thin parts, may be far off: so the factor is the
    median over discs, over that of the square of a normal number.
    """
    within = np.minimum(*np.split(far, 2)) >= 1
    if holes.hole is None or not within.any():
        return near
    ratios = (holes.products(holes.distances) / np.sqrt(holes.products(variances)))[within]
    number, total = (np.bincount(holes.hole[within], weights) for weights in (None, ratios))
    counted = number >= min(_LEAST_IN_HOLE, number.max())
    return max(float(np.median(total[counted] / number[counted]) / _MEDIAN_SQUARE), near)
