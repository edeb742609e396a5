"""Columns brought to one scale: standardised with heavy tails squashed, and half that, half ranks."""

from collections.abc import Sequence

import numpy as np

_TAIL = 4.0  # standard deviations at which tails bend
_KNOTS = 2000  # of a distribution function


def squash(z: np.ndarray) -> np.ndarray:
    """z / sqrt(1 + (z/4)^2): nearly z up to two, at most 4."""
    return z / np.sqrt(1.0 + (z / _TAIL) ** 2)


def mean_and_deviation(X: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted means and standard deviations of columns; 1 for constant ones."""
    mean = np.average(X, axis=0, weights=weights)
    deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    size = np.abs(X).max(axis=0, initial=0.0)
    return mean, np.where(deviation > 1e-12 * size, deviation, 1.0)


class Squashed:
    """Standardised columns with squashed tails; those of ``levels`` (bool, per column) are only centred."""

    def __init__(self, mean: np.ndarray, deviation: np.ndarray, levels: np.ndarray):
        self.mean, self.deviation, self.levels = mean, deviation, levels

    @classmethod
    def fit(cls, X: np.ndarray, weights: np.ndarray, levels: np.ndarray) -> "Squashed":
        """Means and deviations of the columns."""
        mean, deviation = mean_and_deviation(X, weights)
        return cls(mean, np.where(levels, 1.0, deviation), levels)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        Z = (X - self.mean) / self.deviation
        return np.where(self.levels, Z, squash(Z))


class Ranked:
    """The mean of :class:`Squashed` columns and of their standardised ranks."""

    def __init__(
        self, squashed: Squashed, knots: Sequence[np.ndarray], ranks: Sequence[np.ndarray], moments: np.ndarray
    ):
        self.squashed, self.knots, self.ranks, self.moments = squashed, list(knots), list(ranks), moments

    @classmethod
    def fit(cls, X: np.ndarray, weights: np.ndarray, squashed: Squashed) -> "Ranked":
        """Distribution functions of the columns; columns of levels have none."""
        knots, ranks, moments = [], [], np.tile([[0.0], [1.0]], X.shape[1])
        for j, column in enumerate(X.T):
            values, place = np.unique(column, return_inverse=True)
            mass = np.bincount(place, weights) / weights.sum()
            rank = np.cumsum(mass) - 0.5 * mass
            if squashed.levels[j]:
                values, rank = values[:0], rank[:0]
            else:
                moments[:, j] = [part[0] for part in mean_and_deviation(rank[place][:, None], weights)]
            kept = np.unique(np.linspace(0, len(values) - 1, min(len(values), _KNOTS)).astype(int))
            knots.append(values[kept])
            ranks.append(rank[kept])
        return cls(squashed, knots, ranks, moments)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        Z = self.squashed(X)
        for j, (knots, ranks) in enumerate(zip(self.knots, self.ranks, strict=True)):
            if len(knots):
                rank = np.interp(X[:, j], knots, ranks)
                Z[:, j] = 0.5 * (Z[:, j] + (rank - self.moments[0, j]) / self.moments[1, j])
        return Z
