"""Choosing alpha of a margin machine: by leave-one-out values along a path with warm starts, or by cross-validation."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ...losses import Loss

_PER_DECADE = 2


class Solved(Protocol):
    """What a path records of a solution."""

    active: np.ndarray
    iterations: int


@dataclass(frozen=True)
class AlphaRule:
    """What is minimised over alpha, and how the alphas are walked through.

    Among scores within the factor ``slack`` of the smallest, the largest alpha is used. The walk ends after
    ``patience`` steps in a row that count as worse, or after ``plateau`` steps that change nothing.
    """

    penalty: Callable[[Loss, np.ndarray], np.ndarray]  #: of each point, for its leave-one-out value
    is_mean: bool  #: whether the score is the weighted mean of the penalties, or their sum
    worse: Callable[[float, float], int]  #: how many steps a score counts as worse than the best one
    patience: int
    plateau: float = np.inf
    decades: tuple[float, float] = (-5.0, 2.0)  #: of the default alphas, in units of the mean eigenvalue of the kernel
    middle: float | None = None  #: decade where the walk starts, first upwards; None: at the largest alpha
    slack: float = 1.0

    def alphas(self, scale: float) -> np.ndarray:
        """Two alphas per decade, in units of the mean eigenvalue of the kernel, so that they scale with the data."""
        low, high = self.decades
        return scale * np.logspace(low, high, int((high - low) * _PER_DECADE) + 1)

    def total(self, loss: Loss, values: np.ndarray, weights: np.ndarray) -> float:
        """The weighted sum of the penalties."""
        penalty = self.penalty(loss, values)
        counts = penalty != 0
        return float((weights[counts] * penalty[counts]).sum())

    def score(self, loss: Loss, values: np.ndarray, weights: np.ndarray) -> float:
        """The number to be minimised."""
        return self.total(loss, values, weights) / (weights.sum() if self.is_mean else 1.0)

    def walks(self, alphas: np.ndarray, scale: float) -> list[Iterable[int]]:
        """Indices of ascending alphas in the order of visits; the second walk starts where the first one did."""
        if self.middle is None:
            return [range(len(alphas) - 1, -1, -1)]
        middle = int(np.argmin(np.abs(np.log(alphas / scale) - np.log(10.0) * self.middle)))
        return [range(middle, len(alphas)), range(middle - 1, -1, -1)]


def _excess(score: float, best: float) -> int:
    """A number of errors is clearly worse by more than its standard deviation, and doubly so by twice that."""
    excess = (score - best) / max(1.0, math.sqrt(best))
    return 0 if not excess > 1 else 1 if excess < 2 else 2


def _rises(score: float, best: float) -> int:
    return int(not score < best)


def _wrong(loss: Loss, values: np.ndarray) -> np.ndarray:
    return np.where(loss.y * values > 0, 0.0, 1.0)  # NaN counts as an error


def _missed(loss: Loss, values: np.ndarray) -> np.ndarray:
    lost = loss.value(values)
    return np.where(np.isfinite(lost), lost, 1.0)


def _distance(loss: Loss, values: np.ndarray) -> np.ndarray:
    distance = np.abs(values - loss.y)
    return np.where(np.isfinite(distance), distance, np.abs(loss.y))


#: the weighted number of errors of a classifier
FEWEST_ERRORS = AlphaRule(_wrong, False, _excess, patience=2, plateau=2, middle=-1.0)
#: the mean absolute error of a regression
SMALLEST_ERROR = AlphaRule(_distance, True, _rises, patience=4)
#: the mean loss; off-surface points share the noise of the surface points that they come from, which leaving out one
#: point at a time does not see, hence the slack. Surfaces without noise want small alphas.
SMALLEST_LOSS = AlphaRule(_missed, True, _rises, patience=4, decades=(-8.0, 1.0), slack=1.1)


@dataclass
class MarginPath:
    """Alphas tried, their scores, and the solutions that may still be chosen."""

    slack: float = 1.0
    best: float = np.inf
    table: dict[float, dict] = field(default_factory=dict)
    solutions: dict[float, Solved] = field(default_factory=dict)

    def record(self, alpha: float, solution: Solved, score: float) -> None:
        """Keep a solution, and drop those that are no better than another one with a larger alpha."""
        self.table[alpha] = {"score": score, "active": len(solution.active), "iterations": solution.iterations}
        self.best = min(self.best, score)
        self.solutions[alpha] = solution
        within = [a for a in sorted(self.solutions)[::-1] if self.table[a]["score"] <= self.slack * self.best]
        lowest, kept = np.inf, dict[float, Solved]()
        for a in within:
            if self.table[a]["score"] < lowest or not kept:
                kept[a], lowest = self.solutions[a], self.table[a]["score"]
        self.solutions = kept

    @property
    def alpha(self) -> float:
        """The largest alpha whose score is within the slack of the best one."""
        return max(self.solutions)

    def arrays(self) -> dict[str, np.ndarray]:
        """Columns "alpha" (ascending), "score", "active" and "iterations"."""
        alphas = sorted(self.table)
        types: dict[str, type] = {"score": float, "active": int, "iterations": int}
        columns: dict[str, np.ndarray] = {
            name: np.array([self.table[a][name] for a in alphas], dtype=kind) for name, kind in types.items()
        }
        return {"alpha": np.array(alphas, dtype=float), **columns}


def walk(
    alphas: np.ndarray,
    scale: float,
    rule: AlphaRule,
    solve: Callable[[float, Solved | None], Solved],
    score_of: Callable[[Solved], float],
    exhaustive: bool = False,
) -> MarginPath:
    """Walk along alphas while the score is not clearly worse than the best (``exhaustive``: to the ends).

    ``solve(alpha, start)`` returns a solution, started from that of the alpha before. Where a system is not positive
    definite in working precision, alpha is too small for the kernel, and so are all smaller ones.
    """
    alphas = np.unique(alphas)
    path, first = MarginPath(rule.slack), None
    for indices in rule.walks(alphas, scale):
        start, worse, same, last = first, 0, 0, None
        for i in indices:
            try:
                start = solve(float(alphas[i]), start)
                score = score_of(start)
            except np.linalg.LinAlgError:
                if not path.table:
                    raise
                break
            first = start if first is None else first
            penalty = rule.worse(score, path.best)
            worse = worse + penalty if penalty else 0
            path.record(float(alphas[i]), start, score)
            size = len(start.active)
            change = np.inf if last is None else abs(size - last[1]) + abs(score - last[0])
            same, last = (same + 1 if change <= 0.01 * size else 0), (score, size)
            if not exhaustive and (worse >= rule.patience or same >= rule.plateau):
                break
    return path


def cross_validate(
    folds: Iterable[tuple[np.ndarray, np.ndarray]],
    paths: Callable[[np.ndarray, np.ndarray | None], tuple[np.ndarray, Iterator]],
    values_of: Callable,
    loss: Loss,
    weights: np.ndarray,
    rule: AlphaRule,
    alphas: np.ndarray | None = None,
) -> tuple[float, dict[str, np.ndarray]]:
    """The largest alpha with a score within the slack of the smallest, on points that a machine has not seen; and the
    path.

    ``paths(train, alphas)`` gives the alphas (default ones for None) and an iterator over (alpha, fit or None) for the
    machine on these points, ``values_of(fit, train, test)`` its values at others.
    """
    totals: dict[float, float] = {}
    for train, test in folds:
        alphas, fits = paths(train, alphas)
        for alpha, fit in fits:
            missed = np.inf
            if fit is not None:
                missed = rule.total(loss.subset(test), values_of(fit, train, test), weights[test])
            totals[float(alpha)] = totals.get(float(alpha), 0.0) + missed
    grid = np.array(sorted(totals))
    scores = np.array([totals[alpha] for alpha in grid]) / (weights.sum() if rule.is_mean else 1.0)
    slack = max(rule.slack, 1.0 + 1e-12) if rule.is_mean else rule.slack
    best = np.flatnonzero(scores <= slack * scores.min())[-1]
    return float(grid[best]), {"alpha": grid, "score": scores}
