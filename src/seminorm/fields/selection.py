"""Choosing alpha by generalised cross-validation, with a stochastic estimate of the trace."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from . import _numba as loops
from .system import System


@dataclass(frozen=True)
class Score:
    """GCV at one alpha: the score, the effective number of parameters and the residual sum of squares."""

    alpha: float
    score: float
    trace: float
    rss: float


class Selection:
    """GCV along alpha for one system, whose right-hand sides 1, 2, ... belong to probes of unit variance.

    V(alpha) = n RSS / (n - tr H)^2, with tr H estimated by the mean of z' H z over the probes z.
    """

    def __init__(self, system: System, x: np.ndarray, *, number: int, square_sum: float, tol: float, max_iter: int):
        self.system, self.number, self.square_sum = system, number, square_sum
        self.x = [x] + [np.zeros_like(x) for _ in system.right[1:]]
        self.tol, self.max_iter = tol, max_iter
        self.scores: dict[float, Score] = {}

    def score(self, alpha: float) -> Score:
        """Solve at one alpha, starting from the last solutions."""
        if alpha not in self.scores:
            _, rss = self.system.solve_to_noise(alpha, self.x[0], self.square_sum, tol=self.tol, max_iter=self.max_iter)
            for side, x in enumerate(self.x[1:], start=1):
                self.system.solve(alpha, x, side=side, tol=1e-2, max_iter=self.max_iter)
            probes = range(1, len(self.x))
            trace = sum(loops.dot(self.system.right[k], self.x[k]) for k in probes) / len(probes)
            trace = min(trace, self.number * (1 - 1e-9))
            value = self.number * rss / (self.number - trace) ** 2
            self.scores[alpha] = Score(alpha, value, trace, rss)
        return self.scores[alpha]

    def minimise(self, start: float, low: float, high: float, step: float = 1.0) -> Score:
        """Walk along alpha in steps of ``step`` decades from start to the lowest score, then one step of a parabola."""
        start = min(max(start, low), high)
        factor = 10.0**step
        best = self.score(start)
        if best.score == 0.0:
            return best
        for direction in (1 / factor, factor):
            while low <= best.alpha * direction <= high:
                trial = self.score(best.alpha * direction)
                if trial.score >= best.score:
                    break
                best = trial
        return self._parabola(best, factor)

    def _parabola(self, best: Score, factor: float) -> Score:
        left, right = (self.scores.get(best.alpha * f) for f in (1 / factor, factor))
        if left is None or right is None:
            return best
        a, b, c = (math.log(s.score) for s in (left, best, right))
        bend = a - 2 * b + c
        if bend <= 0.0:
            return best
        shift = 0.5 * (a - c) / bend
        if abs(shift) < 0.1:
            return best
        trial = self.score(best.alpha * factor**shift)
        return trial if trial.score < best.score else best
