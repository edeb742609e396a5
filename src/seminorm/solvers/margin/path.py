"""Choosing alpha of a margin machine: by leave-one-out values along a path with warm starts, or by cross-validation."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ...losses import Loss, spread

_UNDEFINED = 4.0  # squared hinge loss of a point whose leave-one-out value does not exist
_DECADES = 14.0  # how far a walk may go to either side of its start
_NO_CHANGE = 1e-3
_FAR = 10.0
_CLEARLY_WORSE = 0.02
_PATIENCE = 2
_GRID = (-5.0, 2.0)  # decades for cross-validation, to be extended where the best one is at the end


class Solved(Protocol):
    """What a path records of a solution."""

    active: np.ndarray
    iterations: int


Score = Callable[[Loss, np.ndarray, np.ndarray], float]


@dataclass(frozen=True)
class AlphaRule:
    """What is minimised over alpha: a score of values that points get from machines that have not seen them.

    Among scores within the factor ``slack`` of the smallest, the largest alpha is used.
    """

    score: Score  #: of a loss, values (n,), NaN where there is none, and weights (n,)
    start: float = -1.0  #: decade where a walk starts, in units of the mean eigenvalue of the kernel
    slack: float = 1.0

    def alphas(self, unit: float) -> np.ndarray:
        """Two alphas per decade for cross-validation, in units of the mean eigenvalue, so that they scale with data."""
        low, high = _GRID
        return unit * np.logspace(low, high, int(2 * (high - low)) + 1)


def _mean(penalty: np.ndarray, weights: np.ndarray) -> float:
    counts = penalty != 0
    return float((weights[counts] * penalty[counts]).sum() / weights.sum())


def mean_squared_hinge(loss: Loss, values: np.ndarray, weights: np.ndarray) -> float:
    """The squared hinge loss of a classifier: unlike the number of errors it tells easy problems apart."""
    missed = np.maximum(1.0 - loss.y * values, 0.0) ** 2
    return _mean(np.where(np.isfinite(missed), missed, _UNDEFINED), weights)


def mean_loss(loss: Loss, values: np.ndarray, weights: np.ndarray) -> float:
    """The loss itself; 1 where there is no value."""
    lost = loss.value(values)
    return _mean(np.where(np.isfinite(lost), lost, 1.0), weights)


def mean_distance(loss: Loss, values: np.ndarray, weights: np.ndarray) -> float:
    """The absolute error of a regression; beyond ten times the scatter of y all errors are alike, or one outlier would
    hide what the other points say."""
    distance = np.abs(values - loss.y)
    return _mean(np.minimum(np.where(np.isfinite(distance), distance, np.inf), _FAR * spread(loss.y)), weights)


SMALLEST_HINGE = AlphaRule(mean_squared_hinge)
SMALLEST_ERROR = AlphaRule(mean_distance)
#: off-surface points share the noise of the surface points that they come from, which leaving out one point at a time
#: does not see, hence the slack. Surfaces without noise want small alphas.
SMALLEST_LOSS = AlphaRule(mean_loss, start=-3.0, slack=1.1)


@dataclass
class MarginPath:
    """Alphas tried, their scores, and the solutions that may still be chosen."""

    slack: float = 1.0
    best: float = np.inf
    table: dict[float, dict] = field(default_factory=dict)
    solutions: dict[float, Any] = field(default_factory=dict)

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

    @property
    def solution(self) -> Any:
        """The one at that alpha."""
        return self.solutions[self.alpha]

    def arrays(self) -> dict[str, np.ndarray]:
        """Columns "alpha" (ascending), "score", "active" and "iterations"."""
        alphas = sorted(self.table)
        types: dict[str, type] = {"score": float, "active": int, "iterations": int}
        columns: dict[str, np.ndarray] = {
            name: np.array([self.table[a][name] for a in alphas], dtype=kind) for name, kind in types.items()
        }
        return {"alpha": np.array(alphas, dtype=float), **columns}


class AlphaSearch:
    """A walk over alphas: ``solve(alpha, start)`` gives a solution, started from that of the alpha before, and
    ``score_of(solution)`` what is minimised.

    Where a system is not positive definite in working precision, alpha is too small for the kernel, and so are all
    smaller ones.
    """

    def __init__(self, solve: Callable[[float, Any], Any], score_of: Callable[[Any], float], slack: float = 1.0):
        self._solve, self._score_of, self.path = solve, score_of, MarginPath(slack)
        self._start: Any = None

    @property
    def best(self) -> float:
        """The smallest score so far."""
        return self.path.best

    def explore(self, alpha: float, step: float = 10.0) -> None:
        """Walk from alpha in steps of a factor, down and up, while that gains anything: no end is ever the answer for
        want of a further step.

        A direction is left where the score hardly changes, where it is clearly worse than the best, or worse twice.
        """
        self._try(alpha)
        if not self.path.table:
            raise np.linalg.LinAlgError(f"the system is not positive definite at alpha={alpha:g}: take a larger alpha.")
        first, steps = self._start, int(_DECADES / np.log10(step))
        for factor in (1.0 / step, step):
            self._start, worse, last = first, 0, self.path.table[alpha]["score"]
            for k in range(1, steps + 1):
                score = self._try(alpha * factor**k)
                if score is None or abs(score - last) <= _NO_CHANGE * last:
                    break
                worse = worse + 1 if score > self.best else 0
                if worse >= _PATIENCE or score > (1.0 + _CLEARLY_WORSE) * self.best:
                    break
                last = score

    def refine(self, step: float = 10.0**0.5) -> None:
        """Try a smaller step to both sides of the best alpha."""
        alpha = self.path.alpha
        self._start = self.path.solution
        for factor in (1.0 / step, step):
            self._try(alpha * factor)

    def exhaust(self, alphas: np.ndarray) -> None:
        """Try all of these, from the largest to the smallest."""
        for alpha in np.unique(alphas)[::-1]:
            if self._try(float(alpha)) is None:
                break
        if not self.path.table:
            raise np.linalg.LinAlgError("the system is not positive definite at any of these: take a larger alpha.")

    def _try(self, alpha: float) -> float | None:
        """The score at alpha; None if it is too small for the kernel in working precision."""
        alpha = float(alpha)
        try:
            solution = self._solve(alpha, self._start)
            score = self._score_of(solution)
        except np.linalg.LinAlgError:
            return None
        self._start = solution
        self.path.record(alpha, solution, score)
        return score


def cross_validate(
    folds: Sequence[Any],
    paths: Callable[[Any, np.ndarray], Iterator],
    values_of: Callable[[Any, Any], np.ndarray],
    loss: Loss,
    weights: np.ndarray,
    rule: AlphaRule,
    alphas: np.ndarray,
    extend: bool,
) -> tuple[float, dict[str, np.ndarray], np.ndarray]:
    """The largest alpha with a score within the slack of the smallest, on points that a machine has not seen; the path,
    and the values at these points.

    A fold has points ``train`` and ``test``; ``paths(fold, alphas)`` iterates over (alpha, fit or None) for the machine
    on the former, and ``values_of(fit, fold)`` are its values at the latter. With ``extend`` the alphas go on where the
    best is an end.
    """
    scores, unseen = dict[float, float](), dict[float, np.ndarray]()
    while True:
        found = {float(alpha): np.full(len(weights), np.nan) for alpha in alphas}
        for fold in folds:
            for alpha, fit in paths(fold, alphas):
                if fit is None:
                    found[float(alpha)][:] = np.nan
                else:
                    found[float(alpha)][fold.test] = values_of(fit, fold)
        unseen |= found
        for alpha, values in found.items():
            scores[alpha] = np.inf if np.isnan(values).all() else rule.score(loss, values, weights)
        grid = np.array(sorted(scores))
        along = np.array([scores[alpha] for alpha in grid])
        best = np.flatnonzero(along <= max(rule.slack, 1.0 + 1e-12) * along.min())[-1]
        further = _beyond(grid, along, int(best)) if extend else None
        if further is None:
            return float(grid[best]), {"alpha": grid, "score": along}, unseen[float(grid[best])]
        alphas = further


def _beyond(grid: np.ndarray, scores: np.ndarray, best: int) -> np.ndarray | None:
    """A decade beyond the end at which the best score is, unless the scores have settled there."""
    if len(grid) < 2 or 0 < best < len(grid) - 1 or np.log10(grid[-1] / grid[0]) > 2 * _DECADES:
        return None
    end, before = (0, 1) if best == 0 else (-1, -2)
    if not scores[end] < (1.0 - _NO_CHANGE) * scores[before]:
        return None
    step = grid[end] / grid[before]
    return grid[end] * step ** np.arange(1, 3)
